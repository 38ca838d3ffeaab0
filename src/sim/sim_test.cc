// SPDX-License-Identifier: Apache-2.0
// The simulation itself: a seed replays, the fleet is as large as promised, and each checker notices a planted breach.
#include <gtest/gtest.h>
#include <longhold/sim/report.h>
#include <longhold/sim/run.h>

#include <set>
#include <string>

namespace longhold::sim {
namespace {

constexpr std::array all_scenarios{Scenario::mixed, Scenario::crash,  Scenario::clocks,
                                   Scenario::store, Scenario::deploy, Scenario::operators};

TEST(Plan, IsAsLargeAsPromised) {
    for (const auto scenario : all_scenarios) {
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            const Plan plan = draw_plan(scenario, seed, 2);
            EXPECT_GE(plan.workers, 3U);
            EXPECT_LE(plan.workers, 10U);
            EXPECT_GE(plan.connections, 20U);
            EXPECT_LE(plan.connections, 200U);
            EXPECT_GE(plan.faults.size(), 10U) << text(scenario) << ' ' << seed;
            EXPECT_GE(plan.config.drift_max, 0.001);
            EXPECT_LE(plan.config.drift_max, 0.05);
        }
    }
}

TEST(Plan, NeighbouringSeedsHaveNothingInCommon) {
    std::set<Nanos> times;
    std::size_t faults = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        for (const auto& fault : draw_plan(Scenario::mixed, seed, 10).faults) {
            times.insert(fault.at);
            ++faults;
        }
    }
    EXPECT_EQ(times.size(), faults);
}

TEST(Run, ASeedReplaysToTheSameHash) {
    std::set<std::uint64_t> hashes;
    for (const auto scenario : all_scenarios) {
        const Plan plan = draw_plan(scenario, 3, 2);
        const auto first = run(plan);
        std::size_t lines = 0;
        const auto second = run(plan, Plant::none, [&lines](const std::string&) { ++lines; });
        EXPECT_EQ(first.hash, second.hash) << text(scenario);
        EXPECT_GT(lines, second.events);
        hashes.insert(first.hash);
    }
    EXPECT_EQ(hashes.size(), all_scenarios.size());
}

TEST(Run, FiftySeedsHold) {
    Totals totals;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        totals.add(run(draw_plan(Scenario::mixed, seed, 2)));
    }
    for (const auto& [seed, violation] : totals.violations()) {
        ADD_FAILURE() << describe_violation(draw_plan(Scenario::mixed, seed, 2), violation);
    }
}

struct Planted {
    std::string_view name;
    Plant plant;
    Invariant noticed_as;
    Scenario scenario = Scenario::mixed;
};

class Checkers : public testing::TestWithParam<Planted> {};

// Each is noticed within a few seeds, by its own checker.
TEST_P(Checkers, NoticeAPlantedBreach) {
    const Planted& planted = GetParam();
    std::set<std::string_view> noticed;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const auto result = run(draw_plan(planted.scenario, seed, 2), planted.plant);
        if (result.violation) {
            noticed.insert(text(result.violation->invariant));
        }
    }
    EXPECT_TRUE(noticed.contains(text(planted.noticed_as))) << testing::PrintToString(noticed);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Checkers,
    testing::Values(Planted{"one_owner", Plant::right_too_long, Invariant::one_owner, Scenario::clocks},
                    Planted{"nothing_lost", Plant::message_dropped, Invariant::cursor_ahead},
                    Planted{"nothing_lost_at_the_end", Plant::resumes_too_far, Invariant::nothing_lost},
                    Planted{"cursor_ahead", Plant::cursor_ahead, Invariant::cursor_ahead},
                    Planted{"cursor_back", Plant::cursor_back, Invariant::cursor_back},
                    Planted{"epoch", Plant::epoch_back, Invariant::epoch},
                    Planted{"given_away", Plant::opens_given_away, Invariant::given_away, Scenario::operators},
                    Planted{"session_state", Plant::session_revived, Invariant::session_state},
                    Planted{"rows_created", Plant::row_created, Invariant::rows_created},
                    Planted{"recovery", Plant::recovery_slow, Invariant::recovery, Scenario::crash},
                    Planted{"cheap", Plant::beats_too_often, Invariant::cheap},
                    Planted{"liveness", Plant::open_ignored, Invariant::liveness}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(Minimised, LeavesOutWhatIsNotNeeded) {
    const Plan plan = draw_plan(Scenario::mixed, 1, 2);
    const Plan small = minimised(plan, Invariant::rows_created, Plant::row_created);
    EXPECT_TRUE(small.faults.empty());
    EXPECT_TRUE(run(small, Plant::row_created).violation);
}

TEST(Totals, ALargeRunMustHaveTestedEverything) {
    Totals totals;
    RunResult result;
    result.marks["a mark"] = 0;
    for (std::uint64_t i = 0; i < Totals::seeds_of_a_proof; ++i) {
        totals.add(result);
    }
    EXPECT_EQ(totals.untested(CommandLine{}).size(), fault_kind_count + 1);
    EXPECT_TRUE(totals.untested(CommandLine{.scenario = Scenario::crash}).empty());
}

}  // namespace
}  // namespace longhold::sim
