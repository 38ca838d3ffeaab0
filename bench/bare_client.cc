// SPDX-License-Identifier: Apache-2.0
#include "bare_client.h"

#include <longhold/runtime/clock.h>
#include <longhold/upstream/url.h>
#include <netinet/in.h>
#include <simdjson.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace longhold::bench {
namespace {

constexpr std::string_view request =
    "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

int connect_to(const std::string& url) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(upstream::parse_url(url)->port);
    ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::send(socket, request.data(), request.size(), 0);
    char byte = 0;
    std::string head;  // byte by byte, so that no frame is taken with it
    while (!head.ends_with("\r\n\r\n") && ::recv(socket, &byte, 1, 0) == 1) {
        head.push_back(byte);
    }
    return socket;
}

// Walks the whole frames at the front of `size` bytes; returns how many bytes they took.
std::size_t walk(const char* bytes, std::size_t size, Measured& measured) {
    std::size_t at = 0;
    while (size - at >= 4) {
        std::size_t length = static_cast<unsigned char>(bytes[at + 1]);
        std::size_t header = 2;
        if (length == 126) {
            length = std::size_t{static_cast<unsigned char>(bytes[at + 2])} << 8U |
                     static_cast<unsigned char>(bytes[at + 3]);
            header = 4;
        }
        if (size - at < header + length || !simdjson::validate_utf8(bytes + at + header, length)) {
            break;
        }
        ++measured.messages;
        measured.bytes += length;
        at += header + length;
    }
    return at;
}

}  // namespace

double cpu_seconds_used() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Measured run_bare_client(const std::string& url, double seconds) {
    const runtime::SystemClock clock;
    const int socket = connect_to(url);
    const int poll = ::epoll_create1(0);
    epoll_event interest{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &interest);
    std::vector<char> buffer(std::size_t{64} << 10U);
    std::size_t kept = 0;
    Measured measured;
    const Instant start = clock.now();
    const double cpu_before = cpu_seconds_used();
    Instant now = start;
    while (now < start + scale(std::chrono::seconds{1}, seconds)) {
        epoll_event event{};
        ::epoll_wait(poll, &event, 1, 1'000);
        const ssize_t got = ::recv(socket, buffer.data() + kept, buffer.size() - kept, MSG_DONTWAIT);
        if (got > 0) {
            kept += static_cast<std::size_t>(got);
            const std::size_t used = walk(buffer.data(), kept, measured);
            kept -= used;
            std::memmove(buffer.data(), buffer.data() + used, kept);
        }
        now = clock.now();
    }
    measured.cpu_seconds = cpu_seconds_used() - cpu_before;
    measured.seconds = std::chrono::duration<double>(now - start).count();
    ::close(poll);
    ::close(socket);
    return measured;
}

}  // namespace longhold::bench
