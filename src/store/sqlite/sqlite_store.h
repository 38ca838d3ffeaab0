// SPDX-License-Identifier: Apache-2.0
// Opening a SQLite store: two connections to the file, each on its own thread.
#pragma once

#include <longhold/store/open.h>

#include <memory>
#include <string>

#include "schema.h"
#include "sqlite_rows.h"

namespace longhold::store {

// As open_store(); `migrations` are those of this program, or a test's.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, const StoreOptions& options,
                                                               Migrations migrations, runtime::Loop& loop);

// The steps of opening, one connection at a time; `limit` bounds each wait.
// Opens the file and expands its schema, or refuses where it is not there and must be.
[[nodiscard]] Result<std::unique_ptr<Database>> open_database(const std::string& path, const StoreOptions& options,
                                                              Migrations migrations, const Limit& limit);

}  // namespace longhold::store
