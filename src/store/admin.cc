// SPDX-License-Identifier: Apache-2.0
#include <longhold/store/admin.h>

#include "sqlite/sqlite_admin.h"
#include "store_url.h"

namespace longhold::store::admin {
namespace {

// Calls `work` with the admin of the store that the options name.
template <class T, class Work>
Result<T> administer(const StoreOptions& options, const runtime::Clock& clock, Work work) {
    const auto url = parse_store_url(options);
    if (!url) {
        return std::unexpected(url.error());
    }
    switch (url->scheme) {
        case Scheme::memory:
            return std::unexpected(Error{
                Errc::invalid, "a memory store lives inside one process and has nothing to administer from outside"});
        case Scheme::sqlite: {
            SqliteAdmin sqlite{url->path, options, sqlite_migrations(), clock};
            return work(sqlite);
        }
    }
    std::unreachable();
}

}  // namespace

Result<StoreInfo> init(const StoreOptions& options, const runtime::Clock& clock) {
    return administer<StoreInfo>(options, clock, [](SqliteAdmin& store) { return store.init(); });
}

Result<CheckReport> check(const StoreOptions& options, const runtime::Clock& clock) {
    return administer<CheckReport>(options, clock, [](SqliteAdmin& store) { return store.check(); });
}

Result<MigrateReport> migrate(const StoreOptions& options, const runtime::Clock& clock) {
    return administer<MigrateReport>(options, clock, [](SqliteAdmin& store) { return store.migrate(); });
}

Result<std::string> dump(const StoreOptions& options, const runtime::Clock& clock) {
    return administer<std::string>(options, clock, [](SqliteAdmin& store) { return store.dump(); });
}

Result<std::uint64_t> remove_namespace(const StoreOptions& options, bool force, const runtime::Clock& clock) {
    return administer<std::uint64_t>(options, clock,
                                     [force](SqliteAdmin& store) { return store.remove_namespace(force); });
}

}  // namespace longhold::store::admin
