// SPDX-License-Identifier: Apache-2.0
// What an operator does to a store as a whole: `longhold store init|check|migrate|dump`.
//
// Each call opens the store, does its work on the calling thread and closes it again, within `open_within` for every
// wait on a lock. A memory store has nothing to administer: `invalid`.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/store/open.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longhold::store::admin {

// Creates the store and the namespace with `options.buckets`. Errors: `exists` where the namespace is there already.
[[nodiscard]] Result<StoreInfo> init(const StoreOptions& options, const runtime::Clock& clock);

struct CheckReport {
    StoreInfo info;
    std::uint32_t program_version = 0;                 // of the schema, as this program knows it
    std::map<std::string, std::uint64_t> sessions;     // by state; every state is there
    std::map<std::string, std::uint64_t> connections;  // by desired state; every state is there
    std::uint64_t owned = 0;                           // connections that name a session
    std::uint64_t orphans = 0;  // STARTED connections that name no session, or one that is final or absent
    std::string integrity;      // "ok", or the engine's first complaint
    std::uint32_t test_writes = 0;
    Duration write_p50{};  // of the test transactions
    Duration write_max{};
    std::vector<std::string> problems;  // sentences for people; empty when all is well
};

// Reads the store and times a few synced writes whose change nobody sees. Needs an existing store; never expands it.
[[nodiscard]] Result<CheckReport> check(const StoreOptions& options, const runtime::Clock& clock);

struct MigrateReport {
    StoreInfo before;
    StoreInfo after;
};

// Applies every migration that this program knows, those that a start leaves alone (they shut older programs out) too.
[[nodiscard]] Result<MigrateReport> migrate(const StoreOptions& options, const runtime::Clock& clock);

// One JSON document of the namespace, read in one snapshot, in a stable order. Format: src/store/README.md.
[[nodiscard]] Result<std::string> dump(const StoreOptions& options, const runtime::Clock& clock);

// Removes every row of the namespace; returns how many. Unless `force`, refuses with `exists` while a session in it is
// not final.
[[nodiscard]] Result<std::uint64_t> remove_namespace(const StoreOptions& options, bool force,
                                                     const runtime::Clock& clock);

}  // namespace longhold::store::admin
