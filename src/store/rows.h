// SPDX-License-Identifier: Apache-2.0
// Rows: the tables of one namespace for a store that reads, decides and writes inside one transaction.
//
// The verbs (verbs.h) are written once over this interface; what it hides is only where rows lie. Thread-safety: none;
// one thread at a time.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/store/store.h>

#include <optional>
#include <vector>

#include "limit.h"

namespace longhold::store {

class Rows {
public:
    virtual ~Rows() = default;

    // From here on, waits and long reads end with `unavailable` once `limit` is over. Null: no limit. It outlives its
    // use: reset it before it goes.
    virtual void set_limit(const Limit* limit) = 0;
    [[nodiscard]] virtual WallTime now() const = 0;
    [[nodiscard]] virtual std::uint32_t buckets() const = 0;

    // One write transaction at a time: nobody else writes from begin_write() to its end. When commit() answers an
    // error, the transaction has ended and its writes may or may not hold.
    [[nodiscard]] virtual Result<void> begin_write() = 0;
    [[nodiscard]] virtual Result<void> commit() = 0;
    virtual void rollback() = 0;

    [[nodiscard]] virtual Result<std::optional<core::SessionRow>> session(const SessionId& id) = 0;
    [[nodiscard]] virtual Result<std::vector<core::SessionRow>> sessions() = 0;
    [[nodiscard]] virtual Result<void> save(const core::SessionRow& row) = 0;
    // With its cursor pages.
    [[nodiscard]] virtual Result<void> remove(const SessionId& id) = 0;

    using Connections = Result<std::vector<core::ConnectionRow>>;
    [[nodiscard]] virtual Result<std::optional<core::ConnectionRow>> connection(const ConnectionId& id) = 0;
    // At most `limit` rows by id above `after`, here and below.
    [[nodiscard]] virtual Connections connections_of(const core::Owner& owner, const ConnectionId& after,
                                                     std::uint64_t limit) = 0;
    [[nodiscard]] virtual Connections connections(const Selector& selector, bool with_deleted,
                                                  const ConnectionId& after, std::uint64_t limit) = 0;
    // Unowned tombstones last updated before `before`.
    [[nodiscard]] virtual Connections tombstones(WallTime before, std::uint64_t limit) = 0;
    [[nodiscard]] virtual Result<void> save(const core::ConnectionRow& row) = 0;
    [[nodiscard]] virtual Result<void> remove(const ConnectionId& id) = 0;

    [[nodiscard]] virtual Result<std::vector<core::CursorPage>> cursor_pages(const SessionId& session) = 0;
    [[nodiscard]] virtual Result<void> save(const core::CursorPage& page) = 0;

    [[nodiscard]] virtual Result<StoreInfo> info() = 0;
    [[nodiscard]] virtual Result<void> set_epoch_floor(std::uint64_t floor) = 0;
};

}  // namespace longhold::store
