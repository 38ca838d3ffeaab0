// SPDX-License-Identifier: Apache-2.0
#include <longhold/store/memory.h>
#include <longhold/store/open.h>

#include "sqlite/sqlite_store.h"
#include "store_url.h"

namespace longhold::store {

Result<std::unique_ptr<Store>> open_store(const StoreOptions& options, runtime::Loop& loop) {
    const auto url = parse_store_url(options);
    if (!url) {
        return std::unexpected(url.error());
    }
    switch (url->scheme) {
        case Scheme::memory:
            if (options.must_exist) {
                return std::unexpected(Error{Errc::not_found, "a memory store is empty whenever it is opened"});
            }
            return open_memory_store(make_memory_state(loop.clock(), options.buckets), loop, options.on_write_failure);
        case Scheme::sqlite:
            return open_sqlite_store(url->path, options, sqlite_migrations(), loop);
    }
    std::unreachable();
}

}  // namespace longhold::store
