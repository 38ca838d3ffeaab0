// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/sim/command_line.h>

namespace longhold::sim {
namespace {

TEST(CommandLine, TakesEveryOptionWithASpaceOrAnEqualsSign) {
    const auto line = parse({"--seed", "7", "--seeds=20", "--scenario", "operator", "--minutes=3", "--jobs", "2"});
    ASSERT_TRUE(line) << line.error();
    EXPECT_EQ(line->seed, 7U);
    EXPECT_EQ(line->seeds, 20U);
    EXPECT_EQ(line->scenario, Scenario::operators);
    EXPECT_EQ(line->minutes, 3U);
    EXPECT_EQ(line->jobs, 2U);
}

TEST(CommandLine, NamesTheWordThatIsWrong) {
    EXPECT_EQ(parse({"--sed", "1"}).error(), "no option '--sed'");
    EXPECT_EQ(parse({"--seeds"}).error(), "--seeds needs a value");
    EXPECT_EQ(parse({"--seeds", "0"}).error(), "--seeds: '0' is not possible");
    EXPECT_EQ(parse({"--minutes", "1x"}).error(), "--minutes: '1x' is not possible");
    EXPECT_EQ(parse({"--scenario", "calm"}).error(), "--scenario: 'calm' is not possible");
    EXPECT_EQ(parse({"--trace", "--seeds", "2"}).error(), "--trace is for one seed");
}

TEST(CommandLine, TheReplayCommandIsUnderstood) {
    const Plan plan = draw_plan(Scenario::store, 17, 4);
    EXPECT_EQ(replay_command(plan), "longhold-sim --scenario store --minutes 4 --seed 17 --trace");
    EXPECT_TRUE(parse({"--scenario", "store", "--minutes", "4", "--seed", "17", "--trace"}));
}

}  // namespace
}  // namespace longhold::sim
