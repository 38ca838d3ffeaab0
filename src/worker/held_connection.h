// SPDX-License-Identifier: Apache-2.0
// HeldConnection: one connection in one epoch, from its claim to its release: dials, follows the sequence, makes
// records, counts acks.
//
// Each socket is one upstream::Connection, so that nothing of an old one touches a new one; sequence, cursor and
// ordinal go on across the sockets of an epoch. A task leads from one socket to the next; while one is open there is
// none, so that an idle connection costs little. Nothing is written or sent unless the session's right holds. The
// object stays until all of its records have come back from the sink, since batches point at its origin.
//
// Thread-safety: none; lives on its IoLoop.
#pragma once

#include <longhold/config/profile.h>
#include <longhold/core/backoff.h>
#include <longhold/core/cursor_tracker.h>
#include <longhold/core/engine_types.h>
#include <longhold/core/sequencer.h>
#include <longhold/runtime/event.h>
#include <longhold/sink/record.h>
#include <longhold/upstream/connection.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io_loop.h"

namespace longhold::worker {

class HeldConnection final : public upstream::Receiver {
public:
    HeldConnection(IoLoop& io, core::ConnectionRow row, bool held_before, std::shared_ptr<const SessionRights> rights);
    ~HeldConnection() override;
    HeldConnection(const HeldConnection&) = delete;
    HeldConnection& operator=(const HeldConnection&) = delete;

    // From one socket to the next: returns when one is open, or its turn to dial has not come, after which it is called
    // again; or when the life is over and the object retired. Never throws.
    [[nodiscard]] runtime::Task<> run();

    // Closes the socket, waits until what was taken in is acked, reports Closed. `within`: the longest wait for the
    // upstream's answer, where the profile allows a longer one.
    void close(core::CloseReason reason, std::optional<Duration> within = {});
    // Resets the socket; what is not handed over is dropped, and nothing is reported.
    void abort();
    // Goes on under a new spec; one that counts another sequence ends this epoch instead.
    void update(core::ConnectionRow row);
    void resume_reading();
    // The place among the dials that it waited for, out of the queue.
    void grant_attempt();
    // Records of this connection have come back from the sink.
    void records_returned(std::uint64_t first, std::uint64_t last, std::uint64_t bytes, bool durable);

    // The cursor, when it has moved since the last call.
    [[nodiscard]] std::optional<core::Cursor> take_moved_cursor();

    // Of records that have not come back.
    [[nodiscard]] std::uint64_t bytes_in_flight() const { return bytes_in_flight_; }

    [[nodiscard]] const ConnectionId& id() const { return origin_.connection; }

    [[nodiscard]] Epoch epoch() const { return origin_.epoch; }

    [[nodiscard]] const SessionId& session() const { return rights_->session; }

    // ---- upstream::Receiver
    void on_open() override;
    bool on_message(upstream::Message message) override;

    void on_burst_end() override {}

    void on_ended(upstream::Ended ended) override;

private:
    enum class Phase : std::uint8_t { waiting, dialing, open, closing };

    // What sockets are dialled by.
    struct DialledBy {
        std::string url;
        std::map<std::string, std::string> variables;
        std::shared_ptr<const config::Profile> profile;

        [[nodiscard]] config::ResolvedProfile whole() const { return {url, variables, *profile}; }
    };

    // What is known when the epoch begins, until the first spec that can be used.
    struct Beginning {
        std::optional<core::Cursor> resume_point;
        bool held_before = false;
    };

    // Looks the spec up. False: it cannot be used now, or not in this epoch, which then ends. What the open socket was
    // dialled by stays meanwhile.
    [[nodiscard]] bool resolve();
    // With a place among the dials. Whether a socket is open then.
    [[nodiscard]] runtime::Task<bool> attempt();
    void leave_queue();
    [[nodiscard]] runtime::Task<> finish();
    [[nodiscard]] runtime::Task<> wait_before_next(Duration wait);
    [[nodiscard]] std::optional<upstream::ConnectionOptions> dial_options(const std::optional<std::string>& cursor);
    void note_end(const upstream::Ended& ended);
    void write_notes(const std::vector<core::Note>& notes);
    void write(sink::RecordKind kind, std::uint32_t stream, std::string_view seq, bool seq_is_text,
               std::string_view body, bool binary);
    void enter(Phase phase);
    [[nodiscard]] telemetry::Gauge& gauge(Phase phase);
    [[nodiscard]] const runtime::ActingRight& right() const;
    [[nodiscard]] bool may_act() const;
    void begin_sequence();
    void log_end(const upstream::Ended& ended);

    IoLoop& io_;
    std::string spec_;
    std::uint64_t spec_revision_;
    std::unique_ptr<Beginning> beginning_;  // until there is a sequencer
    std::shared_ptr<const SessionRights> rights_;
    sink::Origin origin_;
    std::optional<DialledBy> resolved_;
    std::uint64_t resolved_revision_ = 0;  // of the spec that resolved_ was made from
    std::uint64_t sequence_id_ = 0;        // of resolved_
    std::string unresolved_why_;
    core::CursorTracker tracker_;
    std::optional<core::Sequencer> sequencer_;
    core::Backoff backoff_;
    runtime::Event wake_;
    std::unique_ptr<upstream::Connection> socket_;
    std::optional<std::string> asked_;  // the cursor that the current socket resumes from

    Phase phase_ = Phase::waiting;
    bool closing_ = false;
    bool aborted_ = false;
    std::optional<IoLoop::AttemptQueue::iterator> queued_;
    bool granted_ = false;  // a place among the dials, not yet taken note of
    bool renew_ = false;    // dial again at once: a restart to be replayed, or a new spec
    core::CloseReason close_reason_ = core::CloseReason::stopped;
    std::uint64_t ordinal_ = 0;
    std::uint64_t bytes_in_flight_ = 0;
    std::uint64_t in_flight_ = 0;    // records that have not come back
    std::uint64_t cursor_told_ = 0;  // ordinal of the last cursor given to the checkpointer
    std::optional<Instant> open_since_;
    bool delivered_data_ = false;  // on the current socket
    Duration wait_{};
};

}  // namespace longhold::worker
