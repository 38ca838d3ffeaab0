// SPDX-License-Identifier: Apache-2.0
// The schema of a store file, its record of itself, and the numbered migrations that lead to it.
//
// Tables are shared by all namespaces of a file. A start expands: it applies, under the write lock, the migrations that
// leave every program working that works now. One that raises `min_compatible_version` shuts older programs out, so it
// waits for `longhold store migrate`, and what follows it waits too.
#pragma once

#include <longhold/store/store.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "database.h"

namespace longhold::store {

struct Migration {
    std::uint32_t version;                 // 1, 2, 3 …, without holes
    std::uint32_t min_compatible_version;  // the oldest program (by its last migration) that works on the result
    std::string_view sql;
};

using Migrations = std::span<const Migration>;

// Those of this program, oldest first; never empty.
[[nodiscard]] Migrations sqlite_migrations();

struct SchemaRecord {
    std::uint32_t version = 0;  // 0: an empty file
    std::uint32_t min_compatible_version = 0;
};

// Errors: `invalid` where the file holds another program's tables.
[[nodiscard]] Result<SchemaRecord> read_schema(Database& database);
// Errors: `incompatible`, naming both versions and what to do, where this program may not work on the schema.
[[nodiscard]] Result<void> check_schema(const SchemaRecord& record, Migrations migrations, const std::string& path);

enum class Expansion : std::uint8_t { compatible, all };
// Brings the schema forward as far as `expansion` allows; returns what it is then. Several processes may do so at once.
[[nodiscard]] Result<SchemaRecord> expand_schema(Database& database, Migrations migrations, Expansion expansion);

// Adds the namespace with `buckets` unless it is there; whether it did.
[[nodiscard]] Result<bool> add_namespace(Database& database, std::string_view ns, std::uint32_t buckets);

}  // namespace longhold::store
