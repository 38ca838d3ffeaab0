// SPDX-License-Identifier: Apache-2.0
// SqliteRows: the tables of one namespace in a store file, over one connection to it.
#pragma once

#include <longhold/runtime/clock.h>

#include <memory>
#include <string>

#include "../row_text.h"
#include "../rows.h"
#include "database.h"

namespace longhold::store {

class SqliteRows final : public Rows {
public:
    // Errors: `not_found` where the file has no such namespace, `incompatible` where its tables are not as this program
    // needs them. The clock outlives it.
    [[nodiscard]] static Result<std::unique_ptr<SqliteRows>> over(std::unique_ptr<Database> database, std::string ns,
                                                                  const runtime::Clock& clock);

    void set_limit(const Limit* limit) override { database_->set_limit(limit); }

    [[nodiscard]] WallTime now() const override { return clock_.wall_now(); }

    [[nodiscard]] std::uint32_t buckets() const override { return buckets_; }

    Result<void> begin_write() override { return database_->begin_write(); }

    Result<void> commit() override { return database_->commit(); }

    void rollback() override { database_->rollback(); }

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
    // Of every session, in order.
    [[nodiscard]] Result<std::vector<core::CursorPage>> cursor_pages();
    Result<void> save(const core::CursorPage& page) override;

    Result<StoreInfo> info() override;
    Result<void> set_epoch_floor(std::uint64_t floor) override;

    [[nodiscard]] Database& database() { return *database_; }

private:
    SqliteRows(std::unique_ptr<Database> database, std::string ns, const runtime::Clock& clock);
    [[nodiscard]] Result<void> prepare_all();
    [[nodiscard]] Result<core::SessionRow> session_from(const Query& query) const;
    [[nodiscard]] Result<core::ConnectionRow> connection_from(const Query& query);
    template <class Keep>
    [[nodiscard]] Connections collect(Query& query, std::uint64_t limit, Keep keep);
    [[nodiscard]] Result<std::vector<core::CursorPage>> pages_from(Query& query);

    std::unique_ptr<Database> database_;
    std::string ns_;
    const runtime::Clock& clock_;
    std::uint32_t buckets_ = 0;
    RowTextReader reader_;

    struct Statements {
        Statement session, sessions, save_session, remove_session, remove_pages;
        Statement connection, connections_of, connections, tombstones, save_connection, remove_connection;
        Statement pages_of, pages, save_page;
        Statement info, set_epoch_floor;
    } sql_;
};

}  // namespace longhold::store
