// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>

#include <cstdio>
#include <cstdlib>

namespace longhold {

void invariant_broken(std::string_view claim, const std::source_location& where) noexcept {
    std::fprintf(stderr, "longhold: broken invariant at %s:%u (%s): %.*s\n", where.file_name(), where.line(),
                 where.function_name(), static_cast<int>(claim.size()), claim.data());
    std::abort();
}

}  // namespace longhold
