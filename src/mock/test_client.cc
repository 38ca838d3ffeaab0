// SPDX-License-Identifier: Apache-2.0
#include "test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace longhold::mock {
namespace {

constexpr int patience_ms = 10'000;

}  // namespace

TestClient::TestClient(std::uint16_t port, int receive_buffer) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer > 0) {
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        close();
    }
}

TestClient::~TestClient() {
    close();
}

void TestClient::finish_sending() {
    ::shutdown(descriptor_, SHUT_WR);
}

void TestClient::close(bool reset) {
    if (descriptor_ < 0) {
        return;
    }
    if (reset) {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    ::close(std::exchange(descriptor_, -1));
}

void TestClient::send(std::string_view bytes) const {
    while (!bytes.empty()) {
        const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void TestClient::send_frame(unsigned first_byte, std::string_view payload, bool masked) const {
    std::string frame;
    frame += static_cast<char>(first_byte);
    const unsigned mask_bit = masked ? 0x80U : 0;
    if (payload.size() < 126) {
        frame += static_cast<char>(mask_bit | static_cast<unsigned>(payload.size()));
    } else {
        frame += static_cast<char>(mask_bit | 126U);
        frame += static_cast<char>(payload.size() >> 8U);
        frame += static_cast<char>(payload.size());
    }
    constexpr std::string_view key = "\x12\x34\x56\x78";
    if (masked) {
        frame += key;
    }
    for (std::size_t i = 0; i < payload.size(); ++i) {
        frame += masked ? static_cast<char>(payload[i] ^ key[i % 4]) : payload[i];
    }
    send(frame);
}

std::string TestClient::upgrade(std::string_view target) {
    send("GET " + std::string{target} +
         " HTTP/1.1\r\nHost: mock\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    return read_head();
}

bool TestClient::read_more() {
    pollfd state{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (descriptor_ < 0 || ::poll(&state, 1, patience_ms) <= 0) {
        return false;
    }
    std::array<char, 65536> bytes{};
    const auto got = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (got <= 0) {
        was_reset_ = got < 0 && errno == ECONNRESET;
        return false;
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
}

std::string TestClient::read_head() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!read_more()) {
            return {};
        }
    }
    std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    return head;
}

std::string TestClient::read_all() {
    while (read_more()) {
    }
    return std::exchange(buffer_, {});
}

std::optional<ReceivedFrame> TestClient::read_frame() {
    const auto byte = [this](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(buffer_[at])); };
    for (;;) {
        if (buffer_.size() >= 2) {
            std::size_t size = byte(1) & 0x7fU;
            const std::size_t length_bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
            const bool masked = (byte(1) & 0x80U) != 0;
            const std::size_t header = 2 + length_bytes + (masked ? 4 : 0);
            if (length_bytes > 0 && buffer_.size() >= header) {
                size = 0;
                for (std::size_t i = 0; i < length_bytes; ++i) {
                    size = size * 256 + byte(2 + i);
                }
            }
            if (buffer_.size() >= header && buffer_.size() - header >= size) {
                ReceivedFrame frame{.first_byte = byte(0), .payload = buffer_.substr(header, size), .masked = masked};
                buffer_.erase(0, header + size);
                return frame;
            }
        }
        if (!read_more()) {
            return std::nullopt;
        }
    }
}

std::uint64_t TestClient::read_seq() {
    const auto frame = read_frame();
    constexpr std::string_view before = R"({"seq":)";
    std::uint64_t seq = 0;
    if (frame && frame->payload.starts_with(before)) {
        std::from_chars(frame->payload.data() + before.size(), frame->payload.data() + frame->payload.size(), seq);
    }
    return seq;
}

bool TestClient::is_silent_for(int milliseconds) const {
    pollfd state{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return buffer_.empty() && ::poll(&state, 1, milliseconds) == 0;
}

std::uint16_t TestClient::local_port() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

std::string http(std::uint16_t port, std::string_view method, std::string_view target) {
    TestClient client{port};
    client.send(std::string{method} + ' ' + std::string{target} + " HTTP/1.1\r\nHost: mock\r\n\r\n");
    return client.read_all();
}

}  // namespace longhold::mock
