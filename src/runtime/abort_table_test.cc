// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <longhold/runtime/abort_table.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace longhold::runtime {
namespace {

// A connected pair of TCP sockets on the loopback interface.
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
};

// What a read on the peer's side finds: true for a reset.
bool was_reset(int descriptor) {
    char byte = 0;
    return ::recv(descriptor, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET;
}

TEST(AbortTable, ResetsEverySocketAndKeepsDescriptorsOpen) {
    AbortTable table{4};
    const TcpPair first;
    const TcpPair second;
    const auto slot = table.enter(first.ours, 0);
    ASSERT_TRUE(slot.valid());
    ASSERT_TRUE(table.enter(second.ours, 1).valid());
    EXPECT_EQ(table.abort_all(), 2U);
    EXPECT_TRUE(was_reset(first.theirs));
    EXPECT_TRUE(was_reset(second.theirs));
    EXPECT_EQ(::fcntl(first.ours, F_GETFD) >= 0, true);
}

TEST(AbortTable, ResetsOneGroupOnly) {
    AbortTable table{4};
    const TcpPair first;
    const TcpPair second;
    ASSERT_TRUE(table.enter(first.ours, 0).valid());
    ASSERT_TRUE(table.enter(second.ours, 1).valid());
    EXPECT_EQ(table.abort_group(1), 1U);
    EXPECT_FALSE(was_reset(first.theirs));
    EXPECT_TRUE(was_reset(second.theirs));
}

TEST(AbortTable, ForgetsWhatHasLeft) {
    AbortTable table{1};
    const TcpPair pair;
    const auto slot = table.enter(pair.ours, 0);
    EXPECT_FALSE(table.enter(pair.ours, 0).valid()) << "the table is full";
    table.leave(slot);
    EXPECT_EQ(table.abort_all(), 0U);
    EXPECT_FALSE(was_reset(pair.theirs));
    EXPECT_TRUE(table.enter(pair.ours, 0).valid());
}

}  // namespace
}  // namespace longhold::runtime
