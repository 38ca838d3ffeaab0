// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/service_notifier.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace longhold::runtime {

std::expected<void, std::string> ServiceNotifier::send(std::string_view state) const {
    if (address_.empty()) {
        return {};
    }
    const auto failed = [this](const std::string& reason) {
        return std::unexpected("cannot notify the service manager at " + address_ + ": " + reason);
    };
    sockaddr_un target{};
    target.sun_family = AF_UNIX;
    if (address_.size() >= sizeof target.sun_path) {
        return failed("the address is longer than a socket path may be");
    }
    std::memcpy(target.sun_path, address_.data(), address_.size());
    const bool is_abstract = address_.front() == '@';
    if (is_abstract) {
        target.sun_path[0] = '\0';
    }
    const auto size =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() + (is_abstract ? 0U : 1U));
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        return failed(std::generic_category().message(errno));
    }
    const ssize_t sent = ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
                                  reinterpret_cast<const sockaddr*>(&target), size);
    const int error = errno;
    ::close(descriptor);
    if (sent != static_cast<ssize_t>(state.size())) {
        return failed(std::generic_category().message(error));
    }
    return {};
}

}  // namespace longhold::runtime
