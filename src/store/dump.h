// SPDX-License-Identifier: Apache-2.0
// The dump of a namespace as one JSON document. Format: README.md.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/store/store.h>

#include <string>
#include <string_view>
#include <vector>

namespace longhold::store {

// Rows in the order in which they are to appear.
[[nodiscard]] std::string dump_text(std::string_view ns, const StoreInfo& info,
                                    const std::vector<core::SessionRow>& sessions,
                                    const std::vector<core::ConnectionRow>& connections,
                                    const std::vector<core::CursorPage>& pages);

}  // namespace longhold::store
