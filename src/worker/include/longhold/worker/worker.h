// SPDX-License-Identifier: Apache-2.0
// Worker: claims connections through a store, holds their sockets, delivers what arrives to a sink.
//
// Owns one I/O thread per configured thread; the ownership engine runs on the control loop that is handed in. See
// ARCHITECTURE.md for the path of a message and the threads on it.
//
// Thread-safety: all members are called on the control loop's thread. Lifetime: stop() has returned
// before it is destroyed.
#pragma once

#include <longhold/base/time.h>
#include <longhold/config/profile.h>
#include <longhold/core/backoff.h>
#include <longhold/core/engine_types.h>
#include <longhold/runtime/abort_table.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/runtime/watchdog.h>
#include <longhold/sink/sink.h>
#include <longhold/store/store.h>
#include <longhold/telemetry/log.h>
#include <longhold/telemetry/metrics.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace longhold::worker {

// What a connection's spec means; the error is a sentence for people.
using SpecResolver = std::function<std::expected<config::ResolvedProfile, std::string>(const std::string& spec)>;

struct WorkerOptions {
    core::EngineConfig engine;
    std::uint32_t threads = 1;
    std::uint64_t intake_bytes = 64ULL << 20U;  // of records received and not yet acked, in all
    std::uint32_t attempts_at_once = 100;       // dials, in all
    core::BackoffPolicy backoff;
    Duration checkpoint_every = std::chrono::seconds{5};
    Duration tombstone_retention = std::chrono::hours{168};
    Duration stuck_after = std::chrono::seconds{2};  // an I/O loop that has not ticked for so long is given up
    std::uint64_t seed = 0;                          // of jitter
};

// What the worker uses and does not own; all of it outlives the worker.
struct WorkerParts {
    runtime::Loop& control;
    store::Store& store;
    sink::Sink& sink;
    runtime::AbortTable& sockets;
    runtime::Watchdog& watchdog;
    telemetry::Log& log;
    telemetry::Metrics& metrics;
    SpecResolver resolve;
    // Called on the control loop. An operator asked, through the store, that this worker drains.
    std::function<void()> on_drain_asked;
    // Called on the control loop. The session is gone for good although nobody asked: the process is of no use any
    // more.
    std::function<void(std::string reason)> on_failed;
    // Called on the control loop: tell a peer something, in the name of session `from`. May be empty.
    std::function<void(const SessionId& from, core::TellPeer what)> tell_peer;
};

// What health endpoints and tables show. A value.
struct WorkerStatus {
    std::string session;
    std::string session_state;  // "joining", "active", "draining", "fencing", "leaving", "ended"
    std::uint32_t held = 0;
    std::uint64_t pending_records = 0;
    std::uint64_t pending_bytes = 0;
    double pending_oldest_seconds = 0;
    std::uint64_t releases_pending = 0;
};

class Worker {
public:
    Worker(WorkerOptions options, WorkerParts parts);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Starts the threads and joins the store. Returns whether the session stands by `deadline`; if not it goes on
    // trying.
    [[nodiscard]] runtime::Task<bool> start(Instant deadline);

    // A peer told this session something; see core::Hint.
    void take_hint(core::Hint hint);

    // Takes no new connections; the session's next heartbeat, sent at once, says DRAINING.
    void begin_drain();
    // Closes, flushes and releases each connection on its own, in parallel. Returns how many are still held at
    // `deadline`, or were when the session was lost before.
    [[nodiscard]] runtime::Task<std::size_t> hand_over(Instant deadline);
    // Writes cursors that have moved. Returns whether all were written.
    [[nodiscard]] runtime::Task<bool> checkpoint(Instant deadline);
    // Ends the session. Requires that nothing acts any more: the sink is closed. Returns whether it is LEFT; one that
    // was not joined yet is made FENCED instead, so that a late Join cannot begin it, and counts as left.
    [[nodiscard]] runtime::Task<bool> leave(Instant deadline);
    // Resets what is still open, ends tasks and threads. The sink must have given all batches back.
    [[nodiscard]] runtime::Task<> stop();

    [[nodiscard]] WorkerStatus status() const;
    // The I/O loops, for livez. They live as long as the worker.
    [[nodiscard]] std::vector<const runtime::Loop*> loops() const;
    // Sessions of other workers that may be given work, as last seen.
    [[nodiscard]] std::size_t peers() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::worker
