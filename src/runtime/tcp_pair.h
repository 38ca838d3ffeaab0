// SPDX-License-Identifier: Apache-2.0
// A connected pair of TCP sockets on the loopback interface, for tests.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace longhold::runtime {

struct TcpPair {
    int ours = -1;
    int theirs = -1;

    TcpPair() {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
        ours = ::socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_EQ(::connect(ours, reinterpret_cast<sockaddr*>(&address), size), 0);
        theirs = ::accept(listener, nullptr, nullptr);
        ::close(listener);
    }

    ~TcpPair() {
        ::close(ours);
        ::close(theirs);
    }

    TcpPair(const TcpPair&) = delete;
    TcpPair& operator=(const TcpPair&) = delete;

    // What a read on the peer's side finds: true for a reset, waiting for one up to `milliseconds`.
    [[nodiscard]] bool was_reset(int milliseconds = 0) const {
        pollfd waiting{theirs, POLLIN, 0};
        ::poll(&waiting, 1, milliseconds);
        char byte = 0;
        return ::recv(theirs, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET;
    }
};

}  // namespace longhold::runtime
