// SPDX-License-Identifier: Apache-2.0
// A store's URL taken apart.
#pragma once

#include <longhold/store/open.h>

#include <cstdint>
#include <string>

namespace longhold::store {

enum class Scheme : std::uint8_t { memory, sqlite };

struct StoreUrl {
    Scheme scheme = Scheme::memory;
    std::string path;  // of sqlite
};

// Checks the options' own words too. Errors: `invalid`.
[[nodiscard]] Result<StoreUrl> parse_store_url(const StoreOptions& options);

}  // namespace longhold::store
