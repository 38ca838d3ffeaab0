// SPDX-License-Identifier: Apache-2.0
// Process: one worker process: its engine, and what its shell keeps: rights, sockets, cursors, what waits while it is
// stopped.
#pragma once

#include <longhold/core/cursor_tracker.h>
#include <longhold/core/engine.h>

#include <map>
#include <optional>
#include <vector>

#include "event_queue.h"
#include "local_clock.h"

namespace longhold::sim {

// One connection in one epoch, held open.
struct Socket {
    Epoch epoch;
    SessionId session;
    std::uint64_t base = 0;  // sequence number before ordinal 1
    Nanos reads_from = 0;    // the dial is done
    bool closing = false;
    Nanos flush_until = 0;
    core::CursorTracker tracker;
};

enum class Stage : std::uint8_t { serving, draining, handing_over, leaving, gone };

struct Process {
    Process(std::uint32_t the_number, std::uint32_t the_slot, core::EngineConfig config, std::uint64_t seed)
        : number(the_number), slot(the_slot), engine(std::move(config), seed) {}

    std::uint32_t number;
    std::uint32_t slot;
    core::Engine engine;
    LocalClock clock;

    bool paused = false;
    std::vector<Item> waiting;  // while paused
    Nanos wake_at = INT64_MAX;  // planned
    std::uint64_t wake_number = 0;
    Nanos tick_not_before = 0;
    std::uint64_t events = 0;

    SessionId session;  // that has, or had, the right
    Instant right_until{};
    bool revoked = true;
    std::map<std::uint32_t, Socket> sockets;      // by connection
    std::map<std::uint32_t, core::Cursor> noted;  // by connection: cursors as of the last checkpoint
    std::vector<bool> page_dirty;

    Stage stage = Stage::serving;
    Nanos stage_since = 0;
    Nanos hand_over_after = 0;
    bool drained = false;
    bool ended = false;

    [[nodiscard]] bool alive() const { return stage != Stage::gone; }

    // Whether it may act for anything, by its own clock.
    [[nodiscard]] bool may_act(Nanos now) const { return alive() && !revoked && clock.at(now) < right_until; }
};

}  // namespace longhold::sim
