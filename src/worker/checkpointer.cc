// SPDX-License-Identifier: Apache-2.0
#include "checkpointer.h"

#include <utility>

namespace longhold::worker {

Checkpointer::Checkpointer(store::Store& store, telemetry::Metrics& metrics)
    : store_(store), writes_(metrics.counter("longhold_checkpoint_writes_total")) {}

void Checkpointer::begin(SessionId session) {
    session_ = std::move(session);
    places_.clear();
    pages_.clear();
}

std::uint32_t Checkpointer::page_with_room() {
    for (std::uint32_t i = 0; i < pages_.size(); ++i) {
        if (pages_[i].entries.size() < page_entries) {
            return i;
        }
    }
    pages_.emplace_back();
    return static_cast<std::uint32_t>(pages_.size() - 1);
}

void Checkpointer::moved(const ConnectionId& connection, const core::Cursor& cursor) {
    auto place = places_.find(connection);
    if (place == places_.end()) {
        place = places_.emplace(connection, page_with_room()).first;
    }
    Page& page = pages_[place->second];
    const auto [entry, fresh] = page.entries.try_emplace(connection, cursor);
    if (!fresh && !core::further(cursor, entry->second)) {
        return;
    }
    entry->second = cursor;
    page.dirty = true;
}

void Checkpointer::forget(const ConnectionId& connection) {
    if (const auto place = places_.find(connection); place != places_.end()) {
        pages_[place->second].entries.erase(connection);
        places_.erase(place);
    }
}

std::optional<core::Cursor> Checkpointer::known(const ConnectionId& connection) const {
    const auto place = places_.find(connection);
    if (place == places_.end()) {
        return std::nullopt;
    }
    return pages_[place->second].entries.at(connection);
}

runtime::Task<bool> Checkpointer::write(Instant deadline) {
    const SessionId session = session_;
    bool all = true;
    for (std::uint32_t number = 0; session == session_ && number < pages_.size(); ++number) {
        if (!pages_[number].dirty) {
            continue;
        }
        core::CursorPage page{.session = session, .number = number, .entries = {}};
        for (const auto& [id, cursor] : pages_[number].entries) {
            page.entries.push_back(core::CursorEntry{id, cursor});
        }
        pages_[number].dirty = false;
        writes_.add();
        const auto written = co_await store_.write_cursor_page(std::move(page), deadline);
        if (!written) {
            all = false;
            if (session == session_ && number < pages_.size()) {
                pages_[number].dirty = true;
            }
        }
    }
    co_return all;
}

}  // namespace longhold::worker
