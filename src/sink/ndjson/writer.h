// SPDX-License-Identifier: Apache-2.0
// Writer: what the NDJSON sink's thread does.
//
// Batches wait in one queue in the order submitted. The first is encoded whole and written; written ones are kept until
// a sync covers them, since after a failed sync the kernel may have dropped what was written: that file is never
// trusted again, and they are written once more to the next one. Nothing in here blocks but the file operations and the
// wait for work.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/clock.h>
#include <longhold/sink/ndjson/encoder.h>
#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/telemetry/log.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "../counters.h"
#include "../inbox.h"
#include "guarded_files.h"
#include "session_file.h"

namespace longhold::sink {

// What could not be done, with its errno; packed, so that other threads read it without a lock.
enum class Operation : std::uint8_t { none, create, write, cut, sync };

class Writer {
public:
    Writer(NdjsonOptions options, Files& files, const runtime::Clock& clock, telemetry::Log& log);

    // The thread's main function; returns after begin_close(), or after give_up() when the kernel lets go of it.
    void run();

    // From any thread.
    [[nodiscard]] bool valid() const { return inbox_.valid() && ended_signal_.valid(); }

    void submit(std::unique_ptr<Item> item);
    // Syncs what was submitted before, in the thread's next turn.
    void hurry();
    void begin_close(Instant deadline);
    [[nodiscard]] SinkHealth health() const;

    // From the closing thread. Waits for the end of run(), `longest` at most; returns whether it has ended.
    [[nodiscard]] bool wait_ended(Duration longest);
    // If the thread is inside the kernel: gives all batches back in its place, and returns true.
    [[nodiscard]] bool give_up();

    // After the end: whether nothing was discarded.
    [[nodiscard]] bool wrote_everything() const { return discarded_.load(std::memory_order_relaxed) == 0; }

private:
    struct Session {
        SessionFile file;
        Items unsynced;  // written whole, in order

        Session(Files& files, const std::string& directory, const SessionId& id) : file(files, directory, id) {}
    };

    enum class Step : std::uint8_t { written, dropped, failed };

    static constexpr Duration backoff_min = std::chrono::milliseconds{100};
    static constexpr Duration backoff_max = std::chrono::seconds{2};

    [[nodiscard]] bool turn();
    void work();
    [[nodiscard]] bool take_next();
    [[nodiscard]] Step write_current();
    [[nodiscard]] bool make_room(Session& session);
    [[nodiscard]] Step write_rest(Session& session);
    void current_failed(Session& session, Operation operation, int error);
    void drop_current(Session* session);

    [[nodiscard]] bool sync_is_due() const;
    [[nodiscard]] bool sync_all();
    [[nodiscard]] bool sync_session(Session& session);
    void distrust(Session& session);
    [[nodiscard]] bool end_session(const SessionId& id);
    void close_aged();

    void failed(Operation operation, int error, const std::string& file);
    void recovered();
    void revoke_waiting();

    [[nodiscard]] Session& session_of(const SessionId& id);

    [[nodiscard]] bool holds(const RecordBatch& batch) const { return batch.right->holds(clock_.now()); }

    [[nodiscard]] bool closing() const { return closing_.load(std::memory_order_acquire); }

    [[nodiscard]] bool out_of_time() const;
    [[nodiscard]] bool idle() const;
    [[nodiscard]] std::optional<Duration> longest_wait() const;
    void give_back(std::unique_ptr<Item> item, Delivery delivery);
    void discard_all();
    void finish();

    const NdjsonOptions options_;
    GuardedFiles files_;
    const runtime::Clock& clock_;
    telemetry::Log& log_;

    Inbox inbox_;
    Signal ended_signal_;
    std::atomic<bool> ended_{false};
    std::atomic<bool> closing_{false};
    std::atomic<bool> hurried_{false};
    std::atomic<Duration::rep> close_deadline_{0};
    std::atomic<std::uint64_t> discarded_{0};
    std::atomic<std::uint64_t> trouble_{0};  // Operation and errno of being stuck; 0: not stuck
    Counters counters_;

    // The thread's own, or after give_up() the closing thread's.
    Encoder encoder_;
    bool sync_now_ = false;  // this turn ends with a sync
    std::unordered_map<SessionId, std::unique_ptr<Session>> sessions_;
    Items waiting_;
    std::unique_ptr<Item>
        current_;  // being written: encoded_ holds its lines, of which `written_` bytes are in the file
    std::string encoded_;
    std::size_t written_ = 0;
    std::optional<Instant> sync_due_;  // none: nothing unsynced
    std::optional<Instant> retry_at_;
    Duration backoff_ = backoff_min;
};

}  // namespace longhold::sink
