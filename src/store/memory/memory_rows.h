// SPDX-License-Identifier: Apache-2.0
// MemoryRows: the tables as ordered maps. Nothing fails and nothing waits, so a transaction needs no undoing: the verbs
// write only once nothing can be refused any more.
#pragma once

#include <longhold/runtime/clock.h>

#include <map>
#include <utility>

#include "../rows.h"

namespace longhold::store {

class MemoryRows final : public Rows {
public:
    MemoryRows(const runtime::Clock& clock, std::uint32_t buckets);

    void set_limit(const Limit* /*limit*/) override {}

    [[nodiscard]] WallTime now() const override { return clock_.wall_now(); }

    [[nodiscard]] std::uint32_t buckets() const override { return info_.buckets; }

    Result<void> begin_write() override { return {}; }

    Result<void> commit() override { return {}; }

    void rollback() override {}

    Result<std::optional<core::SessionRow>> session(const SessionId& id) override;
    Result<std::vector<core::SessionRow>> sessions() override;
    Result<void> save(const core::SessionRow& row) override;
    Result<void> remove(const SessionId& id) override;

    Result<std::optional<core::ConnectionRow>> connection(const ConnectionId& id) override;
    Connections connections_of(const core::Owner& owner, const ConnectionId& after, std::uint64_t limit) override;
    Connections connections(const Selector& selector, bool with_deleted, const ConnectionId& after,
                            std::uint64_t limit) override;
    Connections tombstones(WallTime before, std::uint64_t limit) override;
    Result<void> save(const core::ConnectionRow& row) override;
    Result<void> remove(const ConnectionId& id) override;

    Result<std::vector<core::CursorPage>> cursor_pages(const SessionId& session) override;
    Result<void> save(const core::CursorPage& page) override;

    Result<StoreInfo> info() override { return info_; }

    Result<void> set_epoch_floor(std::uint64_t floor) override;

private:
    template <class Filter>
    std::vector<core::ConnectionRow> some(const ConnectionId& after, std::uint64_t limit, Filter wanted) const;

    const runtime::Clock& clock_;
    StoreInfo info_;
    std::map<SessionId, core::SessionRow> sessions_;
    std::map<ConnectionId, core::ConnectionRow> connections_;
    std::map<std::pair<core::Owner, ConnectionId>, const core::ConnectionRow*> by_owner_;
    std::map<std::pair<SessionId, std::uint32_t>, core::CursorPage> pages_;
};

}  // namespace longhold::store
