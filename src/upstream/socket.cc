// SPDX-License-Identifier: Apache-2.0
#include "socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>

namespace longhold::upstream {
namespace {

std::string error_text(int error) {
    return std::generic_category().message(error);
}

void set_option(int descriptor, int level, int option, unsigned value) {
    // Best effort: a kernel that lacks one of these options still carries the connection.
    ::setsockopt(descriptor, level, option, &value, sizeof value);
}

}  // namespace

std::string Address::text() const {
    char host[INET6_ADDRSTRLEN] = "?";
    std::uint16_t port = 0;
    if (storage.ss_family == AF_INET6) {
        const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
        ::inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof host);
        port = ntohs(address.sin6_port);
        return "[" + std::string{host} + "]:" + std::to_string(port);
    }
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    port = ntohs(address.sin_port);
    return std::string{host} + ":" + std::to_string(port);
}

std::expected<std::unique_ptr<Socket>, std::string> Socket::connect(runtime::Loop& loop, runtime::AbortTable& table,
                                                                    std::uint32_t group, const Address& address,
                                                                    Duration unacknowledged_max,
                                                                    std::weak_ptr<ReadinessListener> listener) {
    const int descriptor = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return std::unexpected("no socket can be opened: " + error_text(errno) +
                               (errno == EMFILE ? "; raise the limit of open files" : ""));
    }
    const runtime::AbortTable::Slot slot = table.enter(descriptor, group);
    if (!slot.valid()) {
        ::close(descriptor);
        return std::unexpected(
            "the process holds as many sockets as it was set up for (the abort table is full); "
            "raise the number of connections it may hold");
    }
    std::unique_ptr<Socket> socket{new Socket{loop, table, descriptor, slot, std::move(listener)}};
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(unacknowledged_max).count();
    set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(std::clamp<long>(wait, 0, 86'400'000)));
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
        errno != EINPROGRESS) {
        return std::unexpected(error_text(errno));
    }
    return socket;
}

Socket::Socket(runtime::Loop& loop, runtime::AbortTable& table, int descriptor, runtime::AbortTable::Slot slot,
               std::weak_ptr<ReadinessListener> listener)
    : table_(table),
      descriptor_(loop.context().get_executor(), descriptor),
      slot_(slot),
      listener_(std::move(listener)) {}

Socket::~Socket() {
    close();
}

IoStatus Socket::connect_status() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        return fail(error).status;
    }
    sockaddr_storage peer{};
    size = sizeof peer;
    const bool connected = ::getpeername(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    return connected ? IoStatus::done : IoStatus::would_block;
}

IoResult Socket::read_now(std::span<char> buffer) {
    if (!descriptor_.is_open()) {
        return fail(ENOTCONN);
    }
    ssize_t got = -1;
    do {
        got = ::recv(descriptor_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        return {IoStatus::done, static_cast<std::size_t>(got)};
    }
    if (got == 0) {
        return {IoStatus::ended};
    }
    return errno == EAGAIN ? IoResult{IoStatus::would_block} : fail(errno);
}

IoResult Socket::write_now(std::string_view bytes) {
    if (!descriptor_.is_open()) {
        return fail(ENOTCONN);
    }
    ssize_t sent = -1;
    do {
        sent = ::send(descriptor_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        return {IoStatus::done, static_cast<std::size_t>(sent)};
    }
    return errno == EAGAIN ? IoResult{IoStatus::would_block} : fail(errno);
}

void Socket::await_readable(bool tell_readable) {
    await(Descriptor::wait_read, tell_readable);
}

void Socket::await_writable(bool tell_readable) {
    await(Descriptor::wait_write, tell_readable);
}

void Socket::await(Descriptor::wait_type what, bool tell_readable) {
    if (!descriptor_.is_open()) {
        return;
    }
    descriptor_.async_wait(what, [listener = listener_, tell_readable](boost::system::error_code failure) {
        if (failure) {
            return;  // the socket was closed
        }
        if (const auto held = listener.lock()) {
            tell_readable ? held->on_readable() : held->on_writable();
        }
    });
}

void Socket::post_readable() {
    boost::asio::post(descriptor_.get_executor(), [listener = listener_] {
        if (const auto held = listener.lock()) {
            held->on_readable();
        }
    });
}

void Socket::end_writing() {
    if (descriptor_.is_open()) {
        ::shutdown(descriptor_.native_handle(), SHUT_WR);
    }
}

void Socket::reset() {
    if (descriptor_.is_open()) {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close();
    }
}

IoResult Socket::fail(int error) {
    failure_ = error_text(error);
    return {IoStatus::failed};
}

void Socket::close() {
    if (descriptor_.is_open()) {
        table_.leave(slot_);
        boost::system::error_code ignored;
        descriptor_.close(ignored);
    }
}

}  // namespace longhold::upstream
