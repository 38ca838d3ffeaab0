// SPDX-License-Identifier: Apache-2.0
// Opening a store by its URL.
//
// `sqlite:PATH` (relative or absolute, `sqlite:///abs/path` too) and `memory:`, which lives and ends with the Store.
#pragma once

#include <longhold/runtime/loop.h>
#include <longhold/store/store.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace longhold::store {

struct StoreOptions {
    std::string url;
    std::string ns = "default";  // separates fleets in one store; letters, digits, '.', '_' and '-', at most 64
    // Refuse with `not_found` where the store or the namespace is not there, instead of creating it.
    bool must_exist = false;
    // Of unowned rows; used only where the namespace is created, which fixes it. 1 to 1,024.
    std::uint32_t buckets = 16;
    // How long opening (creating, expanding the schema, waiting for a lock) may take.
    Duration open_within = std::chrono::seconds{10};
    // Opening ends soon, with an error, once this is true; set from any thread. Null: it is never given up.
    std::shared_ptr<const std::atomic<bool>> given_up = nullptr;
    // Told on the loop's thread why a write answered `unknown`; may be empty.
    std::function<void(const Error&)> on_write_failure = {};
};

// Opens the store, creating it and expanding its schema where needed and allowed; blocks meanwhile. Errors: `invalid`
// (URL, namespace, path that cannot be a store), `not_found`, `corrupt`, `incompatible` (needs a newer program),
// `unavailable` (locked or failing for longer than `open_within`). Both the loop and its clock outlive the Store.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const StoreOptions& options, runtime::Loop& loop);

// The schemes that this build can open, sorted: "memory", "sqlite".
[[nodiscard]] std::vector<std::string> store_schemes();

}  // namespace longhold::store
