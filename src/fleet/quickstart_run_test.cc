// SPDX-License-Identifier: Apache-2.0
#include "quickstart_run.h"

#include <gtest/gtest.h>

namespace longhold::fleet {
namespace {

core::SessionRow row(std::uint64_t counter, core::SessionState state = core::SessionState::active) {
    core::SessionRow made;
    made.counter = counter;
    made.state = state;
    return made;
}

TEST(AllHaveLooked, TakesTwoBeatsOfEachWorker) {
    EXPECT_FALSE(all_have_looked({{"w1", 5}, {"w2", 9}}, {{"w1", row(7)}, {"w2", row(10)}}));
    EXPECT_TRUE(all_have_looked({{"w1", 5}, {"w2", 9}}, {{"w1", row(7)}, {"w2", row(11)}}));
}

TEST(AllHaveLooked, DoesNotWaitForTheFinal) {
    EXPECT_TRUE(all_have_looked({{"w1", 5}}, {{"w1", row(5, core::SessionState::fenced)}}));
}

TEST(AllHaveLooked, DoesNotWaitForThoseWhoseRowHasGone) {
    EXPECT_TRUE(all_have_looked({{"w1", 5}, {"w2", 9}}, {{"w2", row(11)}}));
    EXPECT_FALSE(all_have_looked({{"w1", 5}, {"w2", 9}}, {{"w2", row(9)}}));
}

}  // namespace
}  // namespace longhold::fleet
