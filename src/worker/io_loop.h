// SPDX-License-Identifier: Apache-2.0
// IoLoop: one I/O thread: its connections, the batch that they fill, and the bytes that the sink has not given back.
//
// A connection lives on one IoLoop for its life. Records go into one open batch, which is handed to the sink at the end
// of the turn, so that many quiet connections cost one batch and not many. When too many bytes are with the sink, all
// connections of the loop stop reading (G4).
//
// Thread-safety: post-ing members say so; all others are called on the loop's own thread.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/core/intake.h>
#include <longhold/runtime/abort_table.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/thread.h>
#include <longhold/sink/sink.h>
#include <longhold/telemetry/log.h>
#include <longhold/telemetry/metrics.h>
#include <longhold/upstream/connection.h>
#include <longhold/upstream/entropy.h>
#include <longhold/upstream/sequence_reader.h>
#include <longhold/worker/worker.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io_metrics.h"
#include "rights.h"
#include "shared_profiles.h"

namespace longhold::worker {

class HeldConnection;

struct IoLoopOptions {
    std::uint32_t number = 0;
    std::uint64_t intake_bytes = 64ULL << 20U;
    std::uint32_t attempts_at_once = 100;
    core::BackoffPolicy backoff;
    std::uint64_t seed = 0;
};

// A cursor that has moved since it was last gathered.
struct MovedCursor {
    ConnectionId connection;
    Epoch epoch;
    core::Cursor cursor;
};

class IoLoop final : public sink::BatchReceiver {
public:
    // Called on this loop's thread; they post to the control loop.
    struct Reports {
        std::function<void(core::Closed)> closed;
    };

    IoLoop(IoLoopOptions options, const runtime::Clock& clock, sink::Sink& sink, runtime::AbortTable& sockets,
           telemetry::Log& log, telemetry::Metrics& metrics, SpecResolver resolve, Reports reports);
    // Requires that stop() was called and that the sink has given all batches back.
    ~IoLoop() override;

    // ---- from any thread
    void open(core::ConnectionRow row, bool held_before, std::shared_ptr<const SessionRights> rights);
    void close(core::CloseConnection order);
    void abort(ConnectionId connection, Epoch epoch);
    // Resets all connections of a session that may not act any more.
    void abort_session(SessionId session);
    void update(core::ConnectionRow row);
    // Calls `take` on this loop's thread with the cursors that have moved since the last time.
    void gather(std::function<void(std::vector<MovedCursor>)> take);
    // Calls `take` on this loop's thread with the bytes of each connection that the sink has not given back.
    void gather_pending(std::function<void(std::map<ConnectionId, std::uint64_t>)> take);
    // Stops every task and, when all batches are back, ends the thread.
    void stop();

    // Waits until the thread has ended, after stop().
    void join() { thread_->join(); }

    void returned(std::unique_ptr<sink::RecordBatch> batch, sink::Delivery delivery) noexcept override;

    [[nodiscard]] runtime::Loop& loop() { return loop_; }

    [[nodiscard]] const runtime::Loop& loop() const { return loop_; }

    [[nodiscard]] std::uint64_t pending_records() const { return pending_records_.load(std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }

    // When the oldest record that is not acked was received; the far future when there is none.
    [[nodiscard]] Instant pending_since() const {
        return Instant{Duration{pending_since_.load(std::memory_order_relaxed)}};
    }

    // ---- for HeldConnection, on this loop's thread
    // Appends to the open batch; it leaves at the end of the turn, or when it is large.
    void append(const SessionRights& rights, const sink::RecordHeader& header, std::string_view seq,
                std::string_view body);

    // Whether a message of so many bytes may still be taken in.
    [[nodiscard]] bool has_room(std::size_t bytes) const { return intake_.bytes() + bytes <= message_room_; }

    // The largest message that always fits when nothing else waits.
    static constexpr std::size_t message_bytes_max = std::size_t{32} << 20U;

    // Whether connections must stop reading.
    [[nodiscard]] bool intake_full() const { return intake_.paused(); }

    // The times of this turn's records: read once per turn.
    [[nodiscard]] Instant turn_now();
    [[nodiscard]] WallTime turn_wall_now();

    using AttemptQueue = std::list<HeldConnection*>;
    // Takes a place among the dials under way, given back by end_attempt(). False: none is free.
    [[nodiscard]] bool begin_attempt();
    // Waits in line for a place: the connection is told by grant_attempt() when it has one, and is out of the line
    // then.
    [[nodiscard]] AttemptQueue::iterator queue_attempt(HeldConnection& connection);

    void leave_attempt_queue(AttemptQueue::iterator place) { attempts_waiting_.erase(place); }

    void end_attempt();

    // Somebody waits for the acks of what was appended so far.
    void hurry();

    void report_closed(core::Closed closed) { reports_.closed(std::move(closed)); }

    // Begins, or goes on with, the life of a connection object, after this turn.
    void spawn(HeldConnection& connection);

    // Ends the life of a connection object whose records have all come back.
    void retire(HeldConnection& connection);

    [[nodiscard]] const IoLoopOptions& options() const { return options_; }

    [[nodiscard]] const runtime::Clock& clock() const { return clock_; }

    // What the sockets of this loop share.
    [[nodiscard]] const upstream::LoopShared& shared() const { return shared_; }

    // Its connection stopped reading: it is resumed when the intake has room.
    void paused(HeldConnection& connection);

    [[nodiscard]] upstream::SequenceReader& sequences() { return sequences_; }

    [[nodiscard]] SharedProfiles& profiles() { return profiles_; }

    [[nodiscard]] telemetry::Log& log() { return log_; }

    [[nodiscard]] IoMetrics& metrics() { return metrics_; }

    [[nodiscard]] Random& random() { return random_; }

    [[nodiscard]] const SpecResolver& resolver() const { return resolve_; }

private:
    void hand_over();
    void take_back(std::unique_ptr<sink::RecordBatch> batch, sink::Delivery delivery);
    void resume_readers();
    void count(const std::vector<sink::RecordHeader>& records);
    void note_pending();
    [[nodiscard]] HeldConnection* find(const ConnectionId& connection, Epoch epoch);

    struct ById {
        using is_transparent = void;

        bool operator()(const auto& a, const auto& b) const { return id_of(a) < id_of(b); }

        static const ConnectionId& id_of(const HeldConnection* connection);

        static const ConnectionId& id_of(const ConnectionId& id) { return id; }
    };

    IoLoopOptions options_;
    const runtime::Clock& clock_;
    sink::Sink& sink_;
    telemetry::Log& log_;
    IoMetrics metrics_;
    SpecResolver resolve_;
    Reports reports_;
    runtime::Loop loop_;
    runtime::TaskGroup tasks_;
    upstream::SharedReadBuffer read_buffer_;
    upstream::SystemEntropy entropy_;
    upstream::TlsContexts tls_;
    upstream::LoopShared shared_;
    upstream::SequenceReader sequences_;
    SharedProfiles profiles_;
    Random random_;
    core::Intake intake_;
    std::uint64_t message_room_;  // the rest of the intake is for gap and state records

    // By address: a connection of an older epoch may still wait for its records while a newer one is open.
    std::map<HeldConnection*, std::unique_ptr<HeldConnection>> connections_;
    std::set<HeldConnection*, ById> current_;

    std::unique_ptr<sink::RecordBatch> open_batch_;
    std::vector<std::unique_ptr<sink::RecordBatch>> spare_batches_;
    std::deque<Instant> batches_out_;  // since when, for each batch that is with the sink, in order
    std::set<HeldConnection*> paused_;
    bool turn_marked_ = false;
    bool hurry_posted_ = false;
    Instant turn_now_{};
    WallTime turn_wall_now_{};
    std::uint32_t attempts_ = 0;
    AttemptQueue attempts_waiting_;
    bool stopping_ = false;
    void finish_when_empty();

    std::atomic<std::uint64_t> pending_records_{0};
    std::atomic<std::uint64_t> pending_bytes_{0};
    std::atomic<std::int64_t> pending_since_{INT64_MAX};
    std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace longhold::worker
