// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/host.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>

namespace longhold::runtime {

std::string host_name() {
    utsname names{};
    if (::uname(&names) != 0 || names.nodename[0] == '\0') {
        return "localhost";
    }
    return names.nodename;
}

std::int64_t process_id() {
    return ::getpid();
}

std::string own_program() {
    std::array<char, 4096> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    return size > 0 ? std::string{path.data(), static_cast<std::size_t>(size)} : std::string{};
}

bool is_terminal(int descriptor) {
    return ::isatty(descriptor) == 1;
}

DescriptorLimit raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return {};
    }
    DescriptorLimit result{limit.rlim_cur, limit.rlim_cur};
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
        result.now = limit.rlim_cur;
    }
    return result;
}

}  // namespace longhold::runtime
