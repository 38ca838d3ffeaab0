// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <longhold/runtime/abort_table.h>

#include "tcp_pair.h"

namespace longhold::runtime {
namespace {

TEST(AbortTable, ResetsEverySocketAndKeepsDescriptorsOpen) {
    AbortTable table{4};
    const TcpPair first;
    const TcpPair second;
    const auto slot = table.enter(first.ours, 0);
    ASSERT_TRUE(slot.valid());
    ASSERT_TRUE(table.enter(second.ours, 1).valid());
    EXPECT_EQ(table.abort_all(), 2U);
    EXPECT_TRUE(first.was_reset());
    EXPECT_TRUE(second.was_reset());
    EXPECT_EQ(::fcntl(first.ours, F_GETFD) >= 0, true);
}

TEST(AbortTable, ResetsOneGroupOnly) {
    AbortTable table{4};
    const TcpPair first;
    const TcpPair second;
    ASSERT_TRUE(table.enter(first.ours, 0).valid());
    ASSERT_TRUE(table.enter(second.ours, 1).valid());
    EXPECT_EQ(table.abort_group(1), 1U);
    EXPECT_FALSE(first.was_reset());
    EXPECT_TRUE(second.was_reset());
}

TEST(AbortTable, ForgetsWhatHasLeft) {
    AbortTable table{1};
    const TcpPair pair;
    const auto slot = table.enter(pair.ours, 0);
    EXPECT_FALSE(table.enter(pair.ours, 0).valid()) << "the table is full";
    table.leave(slot);
    EXPECT_EQ(table.abort_all(), 0U);
    EXPECT_FALSE(pair.was_reset());
    EXPECT_TRUE(table.enter(pair.ours, 0).valid());
}

}  // namespace
}  // namespace longhold::runtime
