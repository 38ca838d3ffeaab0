// SPDX-License-Identifier: Apache-2.0
#include "schema.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace longhold::store {
namespace {

// Owners are texts: a session's id, or none#/off# with the bucket. Epochs and the like are 64-bit, durations
// nanoseconds, times microseconds since 1970.
constexpr std::string_view version_1 = R"(
CREATE TABLE fleet (
    namespace TEXT NOT NULL PRIMARY KEY,
    buckets INTEGER NOT NULL,
    epoch_floor INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE session (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    counter INTEGER NOT NULL,
    attempt TEXT NOT NULL,
    lease_ns INTEGER NOT NULL,
    heartbeat_every_ns INTEGER NOT NULL,
    state TEXT NOT NULL,
    drain_requested INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    load INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    version TEXT NOT NULL,
    zone TEXT NOT NULL,
    address TEXT NOT NULL,
    PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE TABLE connection (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    labels TEXT NOT NULL,
    spec TEXT NOT NULL,
    spec_revision INTEGER NOT NULL,
    desired_state TEXT NOT NULL,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempt TEXT NOT NULL,
    phase TEXT NOT NULL,
    offer TEXT NOT NULL,
    cursor_sequence_id INTEGER,
    cursor_epoch INTEGER,
    cursor_ordinal INTEGER,
    cursor_stream INTEGER,
    cursor_value TEXT,
    stability INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    PRIMARY KEY (namespace, id)
);
CREATE INDEX connection_by_owner ON connection (namespace, owner, id);
CREATE TABLE cursor_page (
    namespace TEXT NOT NULL,
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    entries TEXT NOT NULL,
    PRIMARY KEY (namespace, session, number)
);
)";

constexpr std::array<Migration, 1> migrations_of_this_program{
    {{.version = 1, .min_compatible_version = 1, .sql = version_1}}};

constexpr std::string_view create_record = R"(
CREATE TABLE longhold_schema (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    schema_version INTEGER NOT NULL,
    min_compatible_version INTEGER NOT NULL
);
)";

Result<void> write_record(Database& database, const SchemaRecord& record) {
    return database.execute(
        "DELETE FROM longhold_schema; INSERT INTO longhold_schema (only_row, schema_version, "
        "min_compatible_version) VALUES (1, " +
        std::to_string(record.version) + ", " + std::to_string(record.min_compatible_version) + ")");
}

// The migrations that are due, in order.
Migrations due(const SchemaRecord& record, Migrations migrations, Expansion expansion) {
    const auto first = std::ranges::find_if(
        migrations, [&](const Migration& migration) { return migration.version > record.version; });
    auto last = migrations.end();
    if (expansion == Expansion::compatible && record.version != 0) {
        last = std::ranges::find_if(first, migrations.end(), [&](const Migration& migration) {
            return migration.min_compatible_version > record.min_compatible_version;
        });
    }
    return {first, last};
}

// Inside a write transaction.
Result<SchemaRecord> apply(Database& database, Migrations migrations, Expansion expansion) {
    auto record = read_schema(database);
    if (!record) {
        return record;
    }
    Result<void> done;
    if (record->version == 0) {
        done = database.execute(std::string{create_record});
    }
    const Migrations wanted = due(*record, migrations, expansion);
    for (const Migration& migration : wanted) {
        if (done) {
            done = database.execute(std::string{migration.sql});
        }
        record->version = migration.version;
        record->min_compatible_version = std::max(record->min_compatible_version, migration.min_compatible_version);
    }
    if (done && !wanted.empty()) {
        done = write_record(database, *record);
    }
    if (!done) {
        return std::unexpected(std::move(done.error()));
    }
    return record;
}

}  // namespace

Migrations sqlite_migrations() {
    return migrations_of_this_program;
}

Result<SchemaRecord> read_schema(Database& database) {
    auto tables = database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table'");
    if (!tables) {
        return std::unexpected(std::move(tables.error()));
    }
    if (*tables == 0) {
        return SchemaRecord{};
    }
    auto known =
        database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'longhold_schema'");
    if (!known) {
        return std::unexpected(std::move(known.error()));
    }
    if (*known == 0) {
        return std::unexpected(Error{
            Errc::invalid, "the database " + database.path() + " holds another program's tables; name another file"});
    }
    auto statement = database.prepare("SELECT schema_version, min_compatible_version FROM longhold_schema");
    if (!statement) {
        return std::unexpected(std::move(statement.error()));
    }
    auto query = statement->query();
    auto row = query.next();
    if (!row) {
        return std::unexpected(std::move(row.error()));
    }
    if (!*row) {
        return std::unexpected(Error{Errc::corrupt, "the store " + database.path() + " has lost its schema record"});
    }
    return SchemaRecord{.version = static_cast<std::uint32_t>(query.number(0)),
                        .min_compatible_version = static_cast<std::uint32_t>(query.number(1))};
}

Result<void> check_schema(const SchemaRecord& record, Migrations migrations, const std::string& path) {
    const std::uint32_t own = migrations.back().version;
    if (record.min_compatible_version <= own) {
        return {};
    }
    return std::unexpected(
        Error{Errc::incompatible, "the store " + path + " has schema version " + std::to_string(record.version) +
                                      " and needs programs of schema version " +
                                      std::to_string(record.min_compatible_version) + " or later; this one has " +
                                      std::to_string(own) + ": install a newer release"});
}

Result<SchemaRecord> expand_schema(Database& database, Migrations migrations, Expansion expansion) {
    auto record = read_schema(database);
    if (!record) {
        return record;
    }
    if (auto fits = check_schema(*record, migrations, database.path()); !fits) {
        return std::unexpected(std::move(fits.error()));
    }
    if (due(*record, migrations, expansion).empty()) {
        return record;
    }
    if (auto begun = database.begin_write(); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    // Somebody else may have been first: apply() reads the record again, under the lock.
    record = apply(database, migrations, expansion);
    if (!record) {
        database.rollback();
        return record;
    }
    if (auto fits = check_schema(*record, migrations, database.path()); !fits) {
        database.rollback();
        return std::unexpected(std::move(fits.error()));
    }
    if (auto committed = database.commit(); !committed) {
        return std::unexpected(std::move(committed.error()));
    }
    return record;
}

Result<bool> add_namespace(Database& database, std::string_view ns, std::uint32_t buckets) {
    auto find = database.prepare("SELECT 1 FROM fleet WHERE namespace = ?1");
    auto insert = database.prepare("INSERT OR IGNORE INTO fleet (namespace, buckets) VALUES (?1, ?2)");
    if (!find || !insert) {
        return std::unexpected(!find ? find.error() : insert.error());
    }
    {
        auto query = find->query(ns);
        auto there = query.next();
        if (!there) {
            return std::unexpected(std::move(there.error()));
        }
        if (*there) {
            return false;
        }
    }
    if (auto begun = database.begin_write(); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    if (auto inserted = insert->query(ns, buckets).run(); !inserted) {
        database.rollback();
        return std::unexpected(std::move(inserted.error()));
    }
    const bool added = database.changes() != 0;
    if (auto committed = database.commit(); !committed) {
        return std::unexpected(std::move(committed.error()));
    }
    return added;
}

}  // namespace longhold::store
