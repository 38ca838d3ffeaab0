// SPDX-License-Identifier: Apache-2.0
// StoreOpener: how commands get a store, so that they need not know which stores this build has.
#pragma once

#include <longhold/runtime/loop.h>
#include <longhold/store/store.h>

#include <functional>
#include <memory>
#include <string>

namespace longhold::app {

struct StoreRequest {
    std::string url;
    std::string name_space;
    bool must_exist = false;  // do not create it
};

using StoreOpener =
    std::function<store::Result<std::unique_ptr<store::Store>>(const StoreRequest& request, runtime::Loop& loop)>;

// The opener of every store in this build.
[[nodiscard]] store::Result<std::unique_ptr<store::Store>> open_store_for_command(const StoreRequest& request,
                                                                                  runtime::Loop& loop);

}  // namespace longhold::app
