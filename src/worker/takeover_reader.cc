// SPDX-License-Identifier: Apache-2.0
#include "takeover_reader.h"

#include <utility>
#include <vector>

namespace longhold::worker {

// Shared by the control loop, which waits, and the thread, which may answer after nobody waits any more.
struct TakeoverReader::Points {
    explicit Points(runtime::Loop& control) : answered(control) {}

    sink::Result<std::vector<sink::SinkCursor>> cursors = std::unexpected(sink::Error{});
    bool done = false;  // touched on the control loop only
    runtime::Event answered;
};

TakeoverReader::TakeoverReader(runtime::Loop& control, store::Store& store, sink::Sink& sink, telemetry::Log& log)
    : control_(control), store_(store), sink_(sink), log_(log), files_(control.clock()), thread_("takeover", [this] {
          files_.run();
      }) {}

TakeoverReader::~TakeoverReader() {
    files_.finish();
}

runtime::Task<std::shared_ptr<TakeoverReader::Points>> TakeoverReader::read_sink(SessionId session, Instant deadline) {
    auto points = std::make_shared<Points>(control_);
    files_.post([this, points, session]() mutable {
        auto cursors = sink_.resume_points(session);
        // Moved on, since it ends on the control loop, where its event lives.
        control_.post([points = std::move(points), cursors = std::move(cursors)]() mutable {
            points->cursors = std::move(cursors);
            points->done = true;
            points->answered.notify();
        });
    });
    while (!points->done && control_.clock().now() < deadline) {
        co_await points->answered.wait_until(deadline);
    }
    co_return points;
}

runtime::Task<std::optional<core::TakeoverRead>> TakeoverReader::read(SessionId session, Instant deadline) {
    // Half of the time is the store's, so that a slow disk does not make the whole read fail.
    const Instant now = control_.clock().now();
    auto points = co_await read_sink(session, now + (deadline - now) / 2);
    auto pages = co_await store_.read_cursor_pages(session, deadline);
    if (!pages) {
        co_return std::nullopt;
    }
    core::TakeoverRead read;
    for (const auto& page : *pages) {
        for (const auto& entry : page.entries) {
            // A page that a connection has left keeps what it knew of it.
            const auto [known, fresh] = read.cursors.try_emplace(entry.id, entry.cursor);
            if (!fresh && core::further(entry.cursor, known->second)) {
                known->second = entry.cursor;
            }
        }
    }
    if (!points->done || !points->cursors) {
        log_.warning("sink cursors of a dead session are not known, resuming from its checkpoints",
                     {{"session", session}, {"reason", points->done ? points->cursors.error().detail : "too slow"}});
        co_return read;
    }
    for (const auto& known : *points->cursors) {
        auto& cursor = read.cursors[known.connection];
        if (core::further(known.cursor, cursor)) {
            const auto sequence_id = cursor.epoch == known.cursor.epoch ? cursor.sequence_id : 0;
            cursor = known.cursor;
            cursor.sequence_id = sequence_id;
        }
    }
    co_return read;
}

}  // namespace longhold::worker
