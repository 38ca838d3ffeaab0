// SPDX-License-Identifier: Apache-2.0
#include "scripted_server.h"

#include <gtest/gtest.h>
#include <longhold/upstream/handshake.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace longhold::upstream {
namespace {

constexpr int patience_ms = 10'000;

}  // namespace

Peer::Peer(int descriptor, SSL_CTX* tls) : descriptor_(descriptor), ssl_(nullptr, &::SSL_free) {
    const timeval patience{.tv_sec = patience_ms / 1'000, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls != nullptr) {
        ssl_.reset(::SSL_new(tls));
        ::SSL_set_fd(ssl_.get(), descriptor_);
        secured_ = ::SSL_accept(ssl_.get()) == 1;
    }
}

Peer::~Peer() {
    ssl_.reset();
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

long Peer::read_some(char* out, std::size_t size) {
    if (ssl_ != nullptr) {
        return ::SSL_read(ssl_.get(), out, static_cast<int>(size));
    }
    return ::recv(descriptor_, out, size, 0);
}

std::string Peer::read_request() {
    std::array<char, 4'096> buffer{};
    std::size_t end = std::string::npos;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
        const long got = read_some(buffer.data(), buffer.size());
        if (got <= 0) {
            return {};
        }
        unread_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const std::string request = unread_.substr(0, end + 4);
    unread_.erase(0, end + 4);
    return request;
}

std::string Peer::upgrade(std::string_view more) {
    std::string request = read_request();
    send(switching_answer(request, more));
    return request;
}

std::string Peer::read_exactly(std::size_t size) {
    std::array<char, 65'536> buffer{};
    while (unread_.size() < size) {
        const long got = read_some(buffer.data(), buffer.size());
        if (got <= 0) {
            return {};
        }
        unread_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string out = unread_.substr(0, size);
    unread_.erase(0, size);
    return out;
}

std::optional<Peer::Frame> Peer::read_frame() {
    const std::string start = read_exactly(2);
    if (start.empty()) {
        return std::nullopt;
    }
    std::size_t length = static_cast<unsigned char>(start[1]) & 0x7fU;
    if (length >= 126) {
        const std::string more = read_exactly(length == 126 ? 2 : 8);
        length = 0;
        for (const char byte : more) {
            length = length << 8U | static_cast<unsigned char>(byte);
        }
    }
    const std::string key = read_exactly(4);
    std::string payload = length == 0 ? "" : read_exactly(length);
    for (std::size_t i = 0; i < payload.size(); ++i) {
        payload[i] = static_cast<char>(payload[i] ^ key[i % 4]);
    }
    return Frame{static_cast<unsigned>(start[0]) & 0x0fU, std::move(payload)};
}

void Peer::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const long sent = ssl_ != nullptr ? ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                          : ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void Peer::send_bytewise(std::string_view bytes) {
    for (const char byte : bytes) {
        send({&byte, 1});
    }
}

Peer::End Peer::wait_for_end() {
    std::array<char, 65'536> buffer{};
    for (;;) {
        pollfd wait{.fd = descriptor_, .events = POLLIN, .revents = 0};
        if (::poll(&wait, 1, patience_ms) <= 0) {
            return End::timed_out;
        }
        const long got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            return got == 0 ? End::orderly : End::reset;
        }
    }
}

void Peer::reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(descriptor_);
    descriptor_ = -1;
}

void Peer::end_writing() {
    ::shutdown(descriptor_, SHUT_WR);
}

std::string switching_answer(std::string_view request, std::string_view more) {
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    const std::size_t at = request.find(name);
    const std::string_view key = at == std::string_view::npos ? "" : request.substr(at + name.size(), 24);
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
           accept_for(key) + "\r\n" + std::string{more} + "\r\n";
}

Listener::Listener(int backlog) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(descriptor_, backlog), 0);
    EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
}

Listener::~Listener() {
    ::close(descriptor_);
}

ScriptedServer::ScriptedServer(std::function<void(Peer&)> script, SSL_CTX* tls, int connections) {
    auto listener = std::make_shared<Listener>(16);
    port_ = listener->port();
    listener_ = listener->descriptor();
    thread_.emplace("server", [listener, script = std::move(script), tls, connections] {
        for (int i = 0; i < connections; ++i) {
            const int accepted = ::accept4(listener->descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
            if (accepted < 0) {
                return;
            }
            Peer peer{accepted, tls};
            script(peer);
        }
    });
}

ScriptedServer::~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);  // wakes an accept that nobody will answer
    thread_->join();
}

}  // namespace longhold::upstream
