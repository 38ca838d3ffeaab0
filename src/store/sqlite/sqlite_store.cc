// SPDX-License-Identifier: Apache-2.0
#include "sqlite_store.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "../threaded_store.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;

// Heartbeats look at a held lock more often than the rest does, so they get it first.
constexpr Duration session_poll_max = 1ms;
constexpr Duration connection_poll_max = 5ms;

Result<std::shared_ptr<Lane>> open_lane(const std::string& name, const std::string& path, const StoreOptions& options,
                                        Duration poll_max, const Limit& limit, const runtime::Clock& clock) {
    auto database = Database::open(path, Database::Missing::refuse, poll_max, limit);
    if (!database) {
        return std::unexpected(std::move(database.error()));
    }
    (*database)->set_limit(&limit);
    auto rows = SqliteRows::over(std::move(*database), options.ns, clock);
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    (*rows)->set_limit(nullptr);
    return std::make_shared<Lane>(name, clock, std::move(*rows));
}

}  // namespace

Result<std::unique_ptr<Database>> open_database(const std::string& path, const StoreOptions& options,
                                                Migrations migrations, const Limit& limit) {
    const auto missing = options.must_exist ? Database::Missing::refuse : Database::Missing::create;
    auto database = Database::open(path, missing, connection_poll_max, limit);
    if (!database) {
        return database;
    }
    (*database)->set_limit(&limit);
    if (options.must_exist) {
        const auto record = read_schema(**database);
        if (!record) {
            return std::unexpected(record.error());
        }
        if (record->version == 0) {
            return std::unexpected(Error{
                Errc::not_found, "the file " + path + " holds no store yet; create it with `longhold store init`"});
        }
    }
    const auto record = expand_schema(**database, migrations, Expansion::compatible);
    if (!record) {
        return std::unexpected(record.error());
    }
    (*database)->set_limit(nullptr);
    return database;
}

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, const StoreOptions& options,
                                                 Migrations migrations, runtime::Loop& loop) {
    const runtime::Clock& clock = loop.clock();
    const std::atomic<bool> never{false};
    const Limit limit{clock, clock.now() + options.open_within, options.given_up ? *options.given_up : never};
    {
        auto database = open_database(path, options, migrations, limit);
        if (!database) {
            return std::unexpected(std::move(database.error()));
        }
        if (!options.must_exist) {
            (*database)->set_limit(&limit);
            if (auto added = add_namespace(**database, options.ns, options.buckets); !added) {
                return std::unexpected(std::move(added.error()));
            }
        }
    }
    auto sessions = open_lane("store-sessions", path, options, session_poll_max, limit, clock);
    if (!sessions) {
        return std::unexpected(std::move(sessions.error()));
    }
    auto connections = open_lane("store-rows", path, options, connection_poll_max, limit, clock);
    if (!connections) {
        return std::unexpected(std::move(connections.error()));
    }
    return std::make_unique<ThreadedStore>(loop, std::move(*sessions), std::move(*connections),
                                           options.on_write_failure);
}

}  // namespace longhold::store
