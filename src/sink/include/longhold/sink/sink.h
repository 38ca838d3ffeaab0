// SPDX-License-Identifier: Apache-2.0
// Sink: the contract that every place for messages keeps.
//
// A sink acks a batch only when all of its records are durable. It asks the batch's right
// immediately before each write and writes nothing of a batch whose right has ended. What it cannot
// write now it keeps and tries again; it never drops by itself. Bounds are the submitter's: it
// stops submitting while too many bytes have not come back (G4).
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/core/rows.h>
#include <longhold/sink/record.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace longhold::sink {

enum class Errc : std::uint8_t {
    unavailable,  // cannot be written or read now
    invalid,      // the settings name something that cannot be used
};

struct Error {
    Errc code = Errc::unavailable;
    std::string detail;
};
template <class T>
using Result = std::expected<T, Error>;

enum class Delivery : std::uint8_t {
    durable,    // every record of the batch is
    revoked,    // the right had ended: nothing of what was not yet durable was written, or will be
    discarded,  // the sink was closed first: what was not yet durable is not written
};

// Takes batches back. Called on the sink's own thread; must not block.
class BatchReceiver {
public:
    virtual ~BatchReceiver() = default;
    virtual void returned(std::unique_ptr<RecordBatch> batch, Delivery delivery) noexcept = 0;
};

// What a sink says of itself. Counters are since it was opened.
struct SinkHealth {
    std::string name;            // as the settings name it, such as "main"
    bool stuck = false;          // the last write failed and is being retried
    std::string reason;          // of being stuck, for people
    std::uint64_t records = 0;   // acked
    std::uint64_t bytes = 0;     // written
    std::uint64_t batches = 0;   // acked
    std::uint64_t failures = 0;  // writes or syncs that failed and were retried
    std::uint64_t pending_records = 0;
    std::uint64_t pending_bytes = 0;
};

// How far a session's records reach in the sink, for one connection.
struct SinkCursor {
    ConnectionId connection;
    core::Cursor cursor;  // sequence_id is 0: the sink does not know it
};

// Thread-safety: all members may be called from any thread, close() once. Lifetime: receivers
// outlive their batches' return.
class Sink {
public:
    virtual ~Sink() = default;

    // Takes a batch; `receiver` gets it back, exactly once. Never blocks. Batches of one receiver
    // are written in the order submitted.
    virtual void submit(std::unique_ptr<RecordBatch> batch, BatchReceiver& receiver) = 0;

    // Somebody waits for what was submitted so far: it is made durable without waiting for more to go with it. A hint;
    // never blocks.
    virtual void hurry() = 0;

    // The last record of each connection that `session` left durable here. Of what is asked about nothing may be
    // written any more: the session is final, or its right for those connections is revoked. The sink is the cursor's
    // authority then: a successor resumes behind the last record and not behind the last checkpoint. Empty where this
    // sink cannot know, or cannot see that session's records from here. May block for the time of a bounded read: not
    // for I/O threads.
    [[nodiscard]] virtual Result<std::vector<SinkCursor>> resume_points(const SessionId& session) = 0;

    // No more records come for `session`; its file may be closed once what was submitted is
    // written.
    virtual void end_session(const SessionId& session) = 0;

    [[nodiscard]] virtual SinkHealth health() const = 0;

    // Writes what was submitted until `deadline`, then gives the rest back as discarded and ends
    // the sink's thread. Returns whether everything was written. After it returns nothing is
    // written any more.
    virtual bool close(Instant deadline) = 0;
};

}  // namespace longhold::sink
