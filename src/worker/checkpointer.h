// SPDX-License-Identifier: Apache-2.0
// Checkpointer: a session's moving cursors, gathered from the I/O loops and written as cursor pages.
//
// One write per page that changed, whatever the number of messages (G6). Thread-safety: none; lives on the control
// loop's thread.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/runtime/task.h>
#include <longhold/store/store.h>
#include <longhold/telemetry/metrics.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace longhold::worker {

class Checkpointer {
public:
    Checkpointer(store::Store& store, telemetry::Metrics& metrics);

    // Starts anew for another session: what was known belongs to the former one.
    void begin(SessionId session);
    // Notes a cursor. One that is neither further than the known one nor the same under a newer spec changes nothing.
    void moved(const ConnectionId& connection, const core::Cursor& cursor);
    // The connection was given away: its row carries the cursor now.
    void forget(const ConnectionId& connection);
    // The last cursor noted.
    [[nodiscard]] std::optional<core::Cursor> known(const ConnectionId& connection) const;

    // Writes the pages that have changed. Returns whether all were written; those that were not stay due.
    [[nodiscard]] runtime::Task<bool> write(Instant deadline);

    static constexpr std::size_t page_entries = 100;

private:
    struct Page {
        std::map<ConnectionId, core::Cursor> entries;
        bool dirty = false;
    };

    [[nodiscard]] std::uint32_t page_with_room();

    store::Store& store_;
    telemetry::Counter& writes_;
    SessionId session_;
    std::map<ConnectionId, std::uint32_t> places_;
    std::vector<Page> pages_;
};

}  // namespace longhold::worker
