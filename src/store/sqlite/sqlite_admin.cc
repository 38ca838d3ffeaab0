// SPDX-License-Identifier: Apache-2.0
#include "sqlite_admin.h"

#include <chrono>
#include <limits>
#include <utility>

#include "../dump.h"
#include "sqlite_store.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;

constexpr Duration poll_max = 5ms;
constexpr Duration long_read = 10min;  // a dump of a large store

}  // namespace

SqliteAdmin::SqliteAdmin(const std::string& path, const StoreOptions& options, Migrations migrations,
                         const runtime::Clock& clock)
    : path_(path), options_(options), migrations_(migrations), clock_(clock) {
    limit_.emplace(clock_, clock_.now() + options_.open_within, abandoned_);
}

void SqliteAdmin::begin_step(Database& database, Duration patience) {
    database.set_limit(nullptr);
    limit_.emplace(clock_, clock_.now() + patience, abandoned_);
    database.set_limit(&*limit_);
}

Result<std::unique_ptr<Database>> SqliteAdmin::open_existing() {
    auto database = Database::open(path_, Database::Missing::refuse, poll_max, *limit_);
    if (!database) {
        return database;
    }
    begin_step(**database, options_.open_within);
    const auto record = read_schema(**database);
    if (!record) {
        return std::unexpected(record.error());
    }
    if (record->version == 0) {
        return std::unexpected(
            Error{Errc::not_found, "the file " + path_ + " holds no store yet; create it with `longhold store init`"});
    }
    if (auto fits = check_schema(*record, migrations_, path_); !fits) {
        return std::unexpected(std::move(fits.error()));
    }
    return database;
}

Result<std::unique_ptr<SqliteRows>> SqliteAdmin::open_rows() {
    auto database = open_existing();
    if (!database) {
        return std::unexpected(std::move(database.error()));
    }
    return SqliteRows::over(std::move(*database), options_.ns, clock_);
}

Result<StoreInfo> SqliteAdmin::init() {
    StoreOptions creating = options_;
    creating.must_exist = false;
    auto database = open_database(path_, creating, migrations_, *limit_);
    if (!database) {
        return std::unexpected(std::move(database.error()));
    }
    begin_step(**database, options_.open_within);
    auto added = add_namespace(**database, options_.ns, options_.buckets);
    if (!added) {
        return std::unexpected(std::move(added.error()));
    }
    if (!*added) {
        return std::unexpected(
            Error{Errc::exists, "the store " + path_ + " has the namespace " + options_.ns + " already"});
    }
    auto rows = SqliteRows::over(std::move(*database), options_.ns, clock_);
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    return (*rows)->info();
}

Result<admin::MigrateReport> SqliteAdmin::migrate() {
    admin::MigrateReport report;
    auto database = open_existing();
    if (!database) {
        return std::unexpected(std::move(database.error()));
    }
    const auto before = read_schema(**database);
    if (!before) {
        return std::unexpected(before.error());
    }
    begin_step(**database, options_.open_within);
    if (auto after = expand_schema(**database, migrations_, Expansion::all); !after) {
        return std::unexpected(std::move(after.error()));
    }
    auto rows = SqliteRows::over(std::move(*database), options_.ns, clock_);
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    const auto after = (*rows)->info();
    if (!after) {
        return std::unexpected(after.error());
    }
    report.before = report.after = *after;
    report.before.schema_version = before->version;
    report.before.min_compatible_version = before->min_compatible_version;
    return report;
}

Result<std::string> SqliteAdmin::dump() {
    auto rows = open_rows();
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    begin_step((*rows)->database(), long_read);
    if (auto begun = (*rows)->database().execute("BEGIN"); !begun) {  // one snapshot
        return std::unexpected(std::move(begun.error()));
    }
    const auto info = (*rows)->info();
    const auto sessions = (*rows)->sessions();
    const auto connections =
        (*rows)->connections(Selector{}, true, ConnectionId{}, std::numeric_limits<std::uint64_t>::max());
    const auto pages = (*rows)->cursor_pages();
    (*rows)->rollback();
    for (const Error* error : {info ? nullptr : &info.error(), sessions ? nullptr : &sessions.error(),
                               connections ? nullptr : &connections.error(), pages ? nullptr : &pages.error()}) {
        if (error != nullptr) {
            return std::unexpected(*error);
        }
    }
    return dump_text(options_.ns, *info, *sessions, *connections, *pages);
}

Result<std::uint64_t> SqliteAdmin::remove_namespace(bool force) {
    auto rows = open_rows();
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    Database& database = (*rows)->database();
    begin_step(database, options_.open_within);
    if (auto begun = database.begin_write(); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    const auto removed = remove_all(**rows, force);
    if (!removed) {
        database.rollback();
        return removed;
    }
    if (auto committed = database.commit(); !committed) {
        return std::unexpected(std::move(committed.error()));
    }
    return removed;
}

Result<std::uint64_t> SqliteAdmin::remove_all(SqliteRows& rows, bool force) {
    const auto sessions = rows.sessions();
    if (!sessions) {
        return std::unexpected(sessions.error());
    }
    for (const core::SessionRow& session : *sessions) {
        if (!force && !core::is_final(session.state)) {
            return std::unexpected(Error{
                Errc::exists, "the session " + session.id.text() + " of worker " + session.worker_id.text() + " is " +
                                  std::string{core::text(session.state)} + "; stop its worker first, or force"});
        }
    }
    std::uint64_t removed = 0;
    for (const std::string_view table : {"session", "connection", "cursor_page", "fleet"}) {
        auto statement = rows.database().prepare("DELETE FROM " + std::string{table} + " WHERE namespace = ?1");
        if (!statement) {
            return std::unexpected(std::move(statement.error()));
        }
        if (auto done = statement->query(options_.ns).run(); !done) {
            return std::unexpected(std::move(done.error()));
        }
        removed += table == "fleet" ? 0 : rows.database().changes();
    }
    return removed;
}

}  // namespace longhold::store
