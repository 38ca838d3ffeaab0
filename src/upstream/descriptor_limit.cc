// SPDX-License-Identifier: Apache-2.0
#include <longhold/upstream/descriptor_limit.h>
#include <sys/resource.h>

namespace longhold::upstream {

std::uint64_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace longhold::upstream
