// SPDX-License-Identifier: Apache-2.0
#include "memory_rows.h"

#include "../rules.h"

namespace longhold::store {

MemoryRows::MemoryRows(const runtime::Clock& clock, std::uint32_t buckets)
    : clock_(clock), info_{.schema_version = 1, .min_compatible_version = 1, .buckets = buckets} {}

Result<std::optional<core::SessionRow>> MemoryRows::session(const SessionId& id) {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? std::nullopt : std::optional{found->second};
}

Result<std::vector<core::SessionRow>> MemoryRows::sessions() {
    std::vector<core::SessionRow> rows;
    for (const auto& [id, row] : sessions_) {
        rows.push_back(row);
    }
    return rows;
}

Result<void> MemoryRows::save(const core::SessionRow& row) {
    sessions_[row.id] = row;
    return {};
}

Result<void> MemoryRows::remove(const SessionId& id) {
    sessions_.erase(id);
    std::erase_if(pages_, [&](const auto& page) { return page.first.first == id; });
    return {};
}

Result<std::optional<core::ConnectionRow>> MemoryRows::connection(const ConnectionId& id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? std::nullopt : std::optional{found->second};
}

Rows::Connections MemoryRows::connections_of(const core::Owner& owner, const ConnectionId& after, std::uint64_t limit) {
    std::vector<core::ConnectionRow> rows;
    for (auto at = by_owner_.upper_bound({owner, after});
         at != by_owner_.end() && at->first.first == owner && rows.size() < limit; ++at) {
        rows.push_back(*at->second);
    }
    return rows;
}

template <class Filter>
std::vector<core::ConnectionRow> MemoryRows::some(const ConnectionId& after, std::uint64_t limit, Filter wanted) const {
    std::vector<core::ConnectionRow> rows;
    for (auto at = connections_.upper_bound(after); at != connections_.end() && rows.size() < limit; ++at) {
        if (wanted(at->second)) {
            rows.push_back(at->second);
        }
    }
    return rows;
}

Rows::Connections MemoryRows::connections(const Selector& selector, bool with_deleted, const ConnectionId& after,
                                          std::uint64_t limit) {
    return some(after, limit, [&](const core::ConnectionRow& row) {
        return (with_deleted || row.desired != core::DesiredState::deleted) && rules::selects(selector, row.labels);
    });
}

Rows::Connections MemoryRows::tombstones(WallTime before, std::uint64_t limit) {
    return some(ConnectionId{}, limit, [&](const core::ConnectionRow& row) {
        return row.desired == core::DesiredState::deleted && !row.owner.is_session() && row.updated_at < before;
    });
}

Result<void> MemoryRows::save(const core::ConnectionRow& row) {
    core::ConnectionRow& kept = connections_[row.id];
    by_owner_.erase({kept.owner, row.id});
    kept = row;
    by_owner_[{kept.owner, row.id}] = &kept;
    return {};
}

Result<void> MemoryRows::remove(const ConnectionId& id) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) {
        by_owner_.erase({found->second.owner, id});
        connections_.erase(found);
    }
    return {};
}

Result<std::vector<core::CursorPage>> MemoryRows::cursor_pages(const SessionId& session) {
    std::vector<core::CursorPage> pages;
    for (auto at = pages_.lower_bound({session, 0}); at != pages_.end() && at->first.first == session; ++at) {
        pages.push_back(at->second);
    }
    return pages;
}

Result<void> MemoryRows::save(const core::CursorPage& page) {
    pages_[{page.session, page.number}] = page;
    return {};
}

Result<void> MemoryRows::set_epoch_floor(std::uint64_t floor) {
    info_.epoch_floor = floor;
    return {};
}

}  // namespace longhold::store
