// SPDX-License-Identifier: Apache-2.0
// The admin functions (longhold/store/admin.h) on a store file.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/store/admin.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "schema.h"
#include "sqlite_rows.h"

namespace longhold::store {

class SqliteAdmin {
public:
    // The references outlive it.
    SqliteAdmin(const std::string& path, const StoreOptions& options, Migrations migrations,
                const runtime::Clock& clock);

    [[nodiscard]] Result<StoreInfo> init();
    [[nodiscard]] Result<admin::CheckReport> check();
    [[nodiscard]] Result<admin::MigrateReport> migrate();
    [[nodiscard]] Result<std::string> dump();
    [[nodiscard]] Result<std::uint64_t> remove_namespace(bool force);

private:
    // Gives what comes next `patience`.
    void begin_step(Database& database, Duration patience);
    // Opens a file that must be there and hold a schema that this program may work on; expands nothing.
    [[nodiscard]] Result<std::unique_ptr<Database>> open_existing();
    [[nodiscard]] Result<std::unique_ptr<SqliteRows>> open_rows();
    // The parts of check(), each adding to the report.
    [[nodiscard]] Result<void> count(SqliteRows& rows, admin::CheckReport& report);
    [[nodiscard]] Result<void> look_for_damage(SqliteRows& rows, admin::CheckReport& report);
    [[nodiscard]] Result<void> time_writes(SqliteRows& rows, admin::CheckReport& report);
    void add_problems(admin::CheckReport& report) const;
    // Inside a write transaction.
    [[nodiscard]] Result<std::uint64_t> remove_all(SqliteRows& rows, bool force);

    const std::string& path_;
    const StoreOptions& options_;
    Migrations migrations_;
    const runtime::Clock& clock_;
    std::atomic<bool> abandoned_{false};
    std::optional<Limit> limit_;
};

}  // namespace longhold::store
