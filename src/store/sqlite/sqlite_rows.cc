// SPDX-License-Identifier: Apache-2.0
#include "sqlite_rows.h"

#include <algorithm>
#include <utility>

#include "../rules.h"

namespace longhold::store {
namespace {

// The readers below take the columns by their place in these lists; ?1 is always the namespace.
constexpr std::string_view select_session =
    "SELECT id, worker_id, counter, attempt, lease_ns, heartbeat_every_ns, state, drain_requested, capacity, load, "
    "generation, version, zone, address FROM session WHERE namespace = ?1 ";
constexpr std::string_view select_connection =
    "SELECT id, labels, spec, spec_revision, desired_state, owner, epoch, attempt, phase, offer, "
    "cursor_sequence_id, cursor_epoch, cursor_ordinal, cursor_stream, cursor_value, stability, updated_at_us "
    "FROM connection WHERE namespace = ?1 ";
constexpr std::string_view select_pages = "SELECT session, number, entries FROM cursor_page WHERE namespace = ?1 ";

// Columns that a later schema adds keep their value, or their default, when this program writes a row.
constexpr std::string_view save_session =
    "INSERT INTO session (namespace, id, worker_id, counter, attempt, lease_ns, heartbeat_every_ns, state, "
    "drain_requested, capacity, load, generation, version, zone, address) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) "
    "ON CONFLICT (namespace, id) DO UPDATE SET worker_id = ?3, counter = ?4, attempt = ?5, lease_ns = ?6, "
    "heartbeat_every_ns = ?7, state = ?8, drain_requested = ?9, capacity = ?10, load = ?11, generation = ?12, "
    "version = ?13, zone = ?14, address = ?15";
constexpr std::string_view save_connection =
    "INSERT INTO connection (namespace, id, labels, spec, spec_revision, desired_state, owner, epoch, attempt, phase, "
    "offer, cursor_sequence_id, cursor_epoch, cursor_ordinal, cursor_stream, cursor_value, stability, "
    "updated_at_us) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) "
    "ON CONFLICT (namespace, id) DO UPDATE SET labels = ?3, spec = ?4, spec_revision = ?5, desired_state = ?6, "
    "owner = ?7, epoch = ?8, attempt = ?9, phase = ?10, offer = ?11, cursor_sequence_id = ?12, cursor_epoch = ?13, "
    "cursor_ordinal = ?14, cursor_stream = ?15, cursor_value = ?16, stability = ?17, updated_at_us = ?18";
constexpr std::string_view save_page =
    "INSERT INTO cursor_page (namespace, session, number, entries) VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT (namespace, session, number) DO UPDATE SET entries = ?4";

std::unexpected<Error> corrupt(const Database& database, std::string_view table, std::string_view id,
                               std::string_view column) {
    return std::unexpected(Error{Errc::corrupt, "the store " + database.path() + ": " + std::string{table} + " " +
                                                    as_utf8(id) + " has an unreadable " + std::string{column}});
}

std::string text_of(const Query& query, int column) {
    return std::string{query.text(column)};
}

std::uint32_t small(const Query& query, int column) {
    return static_cast<std::uint32_t>(query.number(column));
}

Duration duration_of(const Query& query, int column) {
    return Duration{static_cast<Duration::rep>(query.number(column))};
}

std::int64_t micros(WallTime time) {
    return std::int64_t{time.time_since_epoch().count()};
}

// At most 2^63 - 1 rows, as SQLite counts them.
std::uint64_t row_limit(std::uint64_t limit) {
    return std::min<std::uint64_t>(limit, INT64_MAX);
}

std::optional<core::Cursor> cursor_from(const Query& query, int column) {
    if (query.is_null(column + 1)) {
        return std::nullopt;
    }
    return core::Cursor{.sequence_id = query.number(column),
                        .epoch = Epoch{query.number(column + 1)},
                        .ordinal = query.number(column + 2),
                        .stream = small(query, column + 3),
                        .value = text_of(query, column + 4)};
}

}  // namespace

SqliteRows::SqliteRows(std::unique_ptr<Database> database, std::string ns, const runtime::Clock& clock)
    : database_(std::move(database)), ns_(std::move(ns)), clock_(clock) {}

Result<std::unique_ptr<SqliteRows>> SqliteRows::over(std::unique_ptr<Database> database, std::string ns,
                                                     const runtime::Clock& clock) {
    std::unique_ptr<SqliteRows> rows{new SqliteRows{std::move(database), std::move(ns), clock}};
    if (auto prepared = rows->prepare_all(); !prepared) {
        return std::unexpected(std::move(prepared.error()));
    }
    const auto info = rows->info();
    if (!info) {
        return std::unexpected(info.error());
    }
    rows->buckets_ = info->buckets;
    return rows;
}

Result<void> SqliteRows::prepare_all() {
    const std::pair<Statement*, std::string> all[] = {
        {&sql_.session, std::string{select_session} + "AND id = ?2"},
        {&sql_.sessions, std::string{select_session} + "ORDER BY id"},
        {&sql_.save_session, std::string{save_session}},
        {&sql_.remove_session, "DELETE FROM session WHERE namespace = ?1 AND id = ?2"},
        {&sql_.remove_pages, "DELETE FROM cursor_page WHERE namespace = ?1 AND session = ?2"},
        {&sql_.connection, std::string{select_connection} + "AND id = ?2"},
        {&sql_.connections_of, std::string{select_connection} + "AND owner = ?2 AND id > ?3 ORDER BY id LIMIT ?4"},
        {&sql_.connections, std::string{select_connection} + "AND id > ?2 ORDER BY id"},
        {&sql_.tombstones, std::string{select_connection} +
                               "AND owner >= 'off#' AND owner < 'off$' AND desired_state = 'DELETED' "
                               "AND updated_at_us < ?2 ORDER BY id LIMIT ?3"},
        {&sql_.save_connection, std::string{save_connection}},
        {&sql_.remove_connection, "DELETE FROM connection WHERE namespace = ?1 AND id = ?2"},
        {&sql_.pages_of, std::string{select_pages} + "AND session = ?2 ORDER BY number"},
        {&sql_.pages, std::string{select_pages} + "ORDER BY session, number"},
        {&sql_.save_page, std::string{save_page}},
        {&sql_.info,
         "SELECT schema_version, min_compatible_version, buckets, epoch_floor FROM longhold_schema, fleet "
         "WHERE namespace = ?1"},
        {&sql_.set_epoch_floor, "UPDATE fleet SET epoch_floor = ?2 WHERE namespace = ?1"},
    };
    for (const auto& [statement, sql] : all) {
        auto prepared = database_->prepare(sql);
        if (!prepared) {
            return std::unexpected(std::move(prepared.error()));
        }
        *statement = std::move(*prepared);
    }
    return {};
}

// ---- sessions

Result<core::SessionRow> SqliteRows::session_from(const Query& query) const {
    const auto state = core::session_state(query.text(6));
    if (!state) {
        return corrupt(*database_, "session", query.text(0), "state");
    }
    return core::SessionRow{.id = SessionId{query.text(0)},
                            .worker_id = WorkerId{query.text(1)},
                            .counter = query.number(2),
                            .attempt = AttemptToken{query.text(3)},
                            .lease = duration_of(query, 4),
                            .heartbeat_every = duration_of(query, 5),
                            .state = *state,
                            .drain_requested = query.number(7) != 0,
                            .capacity = small(query, 8),
                            .load = small(query, 9),
                            .generation = query.number(10),
                            .version = text_of(query, 11),
                            .zone = text_of(query, 12),
                            .address = text_of(query, 13)};
}

Result<std::optional<core::SessionRow>> SqliteRows::session(const SessionId& id) {
    auto query = sql_.session.query(ns_, id.text());
    const auto found = query.next();
    if (!found) {
        return std::unexpected(found.error());
    }
    if (!*found) {
        return std::nullopt;
    }
    return session_from(query);
}

Result<std::vector<core::SessionRow>> SqliteRows::sessions() {
    std::vector<core::SessionRow> rows;
    auto query = sql_.sessions.query(ns_);
    for (;;) {
        const auto found = query.next();
        if (!found) {
            return std::unexpected(found.error());
        }
        if (!*found) {
            return rows;
        }
        auto row = session_from(query);
        if (!row) {
            return std::unexpected(std::move(row.error()));
        }
        rows.push_back(std::move(*row));
    }
}

Result<void> SqliteRows::save(const core::SessionRow& row) {
    return sql_.save_session
        .query(ns_, row.id.text(), row.worker_id.text(), row.counter, row.attempt.text(),
               std::int64_t{row.lease.count()}, std::int64_t{row.heartbeat_every.count()}, core::text(row.state),
               std::uint32_t{row.drain_requested}, row.capacity, row.load, row.generation, row.version, row.zone,
               row.address)
        .run();
}

Result<void> SqliteRows::remove(const SessionId& id) {
    if (auto pages = sql_.remove_pages.query(ns_, id.text()).run(); !pages) {
        return pages;
    }
    return sql_.remove_session.query(ns_, id.text()).run();
}

// ---- connections

Result<core::ConnectionRow> SqliteRows::connection_from(const Query& query) {
    const auto desired = core::desired_state(query.text(4));
    if (!desired) {
        return corrupt(*database_, "connection", query.text(0), "desired_state");
    }
    auto labels = reader_.labels(query.text(1));
    if (!labels) {
        return corrupt(*database_, "connection", query.text(0), "labels");
    }
    return core::ConnectionRow{
        .id = ConnectionId{query.text(0)},
        .labels = std::move(*labels),
        .spec = text_of(query, 2),
        .spec_revision = query.number(3),
        .desired = *desired,
        .owner = core::Owner::from_text(text_of(query, 5)),
        .epoch = Epoch{query.number(6)},
        .attempt = AttemptToken{query.text(7)},
        .phase = text_of(query, 8),
        .offer = text_of(query, 9),
        .cursor = cursor_from(query, 10),
        .stability = small(query, 15),
        .updated_at = WallTime{std::chrono::microseconds{static_cast<std::int64_t>(query.number(16))}}};
}

Result<std::optional<core::ConnectionRow>> SqliteRows::connection(const ConnectionId& id) {
    auto query = sql_.connection.query(ns_, id.text());
    const auto found = query.next();
    if (!found) {
        return std::unexpected(found.error());
    }
    if (!*found) {
        return std::nullopt;
    }
    return connection_from(query);
}

// The next `limit` rows that `keep` lets through.
template <class Keep>
Rows::Connections SqliteRows::collect(Query& query, std::uint64_t limit, Keep keep) {
    std::vector<core::ConnectionRow> rows;
    while (rows.size() < limit) {
        const auto found = query.next();
        if (!found) {
            return std::unexpected(found.error());
        }
        if (!*found) {
            break;
        }
        auto row = connection_from(query);
        if (!row) {
            return std::unexpected(std::move(row.error()));
        }
        if (keep(*row)) {
            rows.push_back(std::move(*row));
        }
    }
    return rows;
}

Rows::Connections SqliteRows::connections_of(const core::Owner& owner, const ConnectionId& after, std::uint64_t limit) {
    auto query = sql_.connections_of.query(ns_, owner.text(), after.text(), row_limit(limit));
    return collect(query, limit, [](const core::ConnectionRow&) { return true; });
}

Rows::Connections SqliteRows::connections(const Selector& selector, bool with_deleted, const ConnectionId& after,
                                          std::uint64_t limit) {
    auto query = sql_.connections.query(ns_, after.text());
    return collect(query, limit, [&](const core::ConnectionRow& row) {
        return (with_deleted || row.desired != core::DesiredState::deleted) && rules::selects(selector, row.labels);
    });
}

Rows::Connections SqliteRows::tombstones(WallTime before, std::uint64_t limit) {
    auto query = sql_.tombstones.query(ns_, micros(before), row_limit(limit));
    return collect(query, limit, [](const core::ConnectionRow&) { return true; });
}

Result<void> SqliteRows::save(const core::ConnectionRow& row) {
    const std::string labels = labels_text(row.labels);
    const auto write = [&](const auto&... cursor) {
        return sql_.save_connection
            .query(ns_, row.id.text(), labels, row.spec, row.spec_revision, core::text(row.desired), row.owner.text(),
                   row.epoch.value, row.attempt.text(), row.phase, row.offer, cursor..., row.stability,
                   micros(row.updated_at))
            .run();
    };
    if (!row.cursor) {
        return write(nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    const core::Cursor& cursor = *row.cursor;
    return write(cursor.sequence_id, cursor.epoch.value, cursor.ordinal, cursor.stream, cursor.value);
}

Result<void> SqliteRows::remove(const ConnectionId& id) {
    return sql_.remove_connection.query(ns_, id.text()).run();
}

// ---- cursor pages

Result<std::vector<core::CursorPage>> SqliteRows::pages_from(Query& query) {
    std::vector<core::CursorPage> pages;
    for (;;) {
        const auto found = query.next();
        if (!found) {
            return std::unexpected(found.error());
        }
        if (!*found) {
            return pages;
        }
        auto entries = reader_.entries(query.text(2));
        if (!entries) {
            return corrupt(*database_, "cursor page of session", query.text(0), "list of entries");
        }
        pages.push_back(
            {.session = SessionId{query.text(0)}, .number = small(query, 1), .entries = std::move(*entries)});
    }
}

Result<std::vector<core::CursorPage>> SqliteRows::cursor_pages(const SessionId& session) {
    auto query = sql_.pages_of.query(ns_, session.text());
    return pages_from(query);
}

Result<std::vector<core::CursorPage>> SqliteRows::cursor_pages() {
    auto query = sql_.pages.query(ns_);
    return pages_from(query);
}

Result<void> SqliteRows::save(const core::CursorPage& page) {
    const std::string entries = entries_text(page.entries);
    return sql_.save_page.query(ns_, page.session.text(), page.number, entries).run();
}

// ---- the fleet

Result<StoreInfo> SqliteRows::info() {
    auto query = sql_.info.query(ns_);
    const auto found = query.next();
    if (!found) {
        return std::unexpected(found.error());
    }
    if (!*found) {
        return std::unexpected(Error{Errc::not_found, "the store " + database_->path() + " has no namespace " + ns_ +
                                                          "; create it with `longhold store init`"});
    }
    if (query.number(2) == 0) {
        return corrupt(*database_, "namespace", ns_, "number of buckets");
    }
    return StoreInfo{.schema_version = small(query, 0),
                     .min_compatible_version = small(query, 1),
                     .buckets = small(query, 2),
                     .epoch_floor = query.number(3)};
}

Result<void> SqliteRows::set_epoch_floor(std::uint64_t floor) {
    return sql_.set_epoch_floor.query(ns_, floor).run();
}

}  // namespace longhold::store
