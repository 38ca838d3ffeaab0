// SPDX-License-Identifier: Apache-2.0
#include <longhold/store/open.h>

#include "store_opener.h"

namespace longhold::app {

store::Result<std::unique_ptr<store::Store>> open_store_for_command(const StoreRequest& request, runtime::Loop& loop) {
    store::StoreOptions options;
    options.url = request.url;
    options.ns = request.name_space;
    options.must_exist = request.must_exist;
    return store::open_store(options, loop);
}

}  // namespace longhold::app
