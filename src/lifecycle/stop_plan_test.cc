// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/lifecycle/stop_plan.h>

#include <functional>
#include <string_view>

namespace longhold::lifecycle {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Instant sigterm{1000s};

std::vector<StopStepSpec> steps_of_a_worker() {
    return {{.name = "balancer_wait", .budget = 20s, .is_wait = true},
            {.name = "handover", .budget = 20s, .needs_session = true},
            {.name = "flush", .budget = 5s, .needs_session = true},
            {.name = "close", .budget = 2s}};
}

// What a step does in a play: takes so long, and answers this (nothing: goes on until it is cut).
struct Play {
    Duration takes{};
    std::optional<StepResult> answer = StepResult{};
};

struct Scenario {
    std::string_view name;
    std::vector<Play> plays;  // of the four steps
    Duration second_signal_after = 1h;
    Duration session_lost_after = 1h;
    std::vector<StepEnd> want;
    int exit = 0;
    Duration whole{};  // from the signal to the end
};

// Plays a scenario in steps of 100 ms.
struct Outcome {
    std::vector<StepEnd> ends;
    int exit = 0;
    Duration whole{};
};

Outcome play(const Scenario& scenario) {
    StopPlan plan{steps_of_a_worker(), sigterm};
    Instant now = sigterm;
    const auto tell = [&] {
        if (now - sigterm >= scenario.second_signal_after) {
            plan.hurry();
        }
        if (now - sigterm >= scenario.session_lost_after) {
            plan.lose_session();
        }
    };
    tell();
    while (const auto order = plan.next()) {
        const Play& what = scenario.plays.at(order->step);
        const Instant began = now;
        while (!plan.must_cut(now) && (!what.answer || now - began < what.takes)) {
            now += 100ms;
            tell();
        }
        const bool answered = what.answer && now - began >= what.takes;
        plan.ended(answered ? what.answer : std::nullopt, now);
    }
    Outcome outcome{.ends = {}, .exit = plan.exit_code(), .whole = now - sigterm};
    for (const StepReport& report : plan.reports()) {
        outcome.ends.push_back(report.end);
    }
    return outcome;
}

class StopPlanScenario : public testing::TestWithParam<Scenario> {};

TEST_P(StopPlanScenario, EndsAsItShould) {
    const Outcome got = play(GetParam());
    EXPECT_EQ(got.ends, GetParam().want);
    EXPECT_EQ(got.exit, GetParam().exit);
    EXPECT_EQ(got.whole, GetParam().whole);
}

using enum StepEnd;
const Play quick{.takes = 1s};
const Play waits_until_cut{.answer = std::nullopt};
const Play leaves_some{.takes = 1s, .answer = std::unexpected("3 connections were not handed over")};

INSTANTIATE_TEST_SUITE_P(Table, StopPlanScenario,
                         testing::Values(Scenario{.name = "all_well",
                                                  .plays = {Play{.takes = 20s}, quick, quick, quick},
                                                  .want = {done, done, done, done},
                                                  .whole = 23s},
                                         Scenario{.name = "handover_overruns_and_the_rest_still_runs",
                                                  .plays = {Play{.takes = 20s}, waits_until_cut, quick, quick},
                                                  .want = {done, overrun, done, done},
                                                  .exit = 1,
                                                  .whole = 42s},
                                         Scenario{.name = "every_step_overruns",
                                                  .plays = {waits_until_cut, waits_until_cut, waits_until_cut,
                                                            waits_until_cut},
                                                  .want = {overrun, overrun, overrun, overrun},
                                                  .exit = 1,
                                                  .whole = 47s},
                                         Scenario{.name = "what_one_leaves_over_the_next_may_use",
                                                  .plays = {quick, Play{.takes = 35s}, quick, quick},
                                                  .want = {done, done, done, done},
                                                  .whole = 38s},
                                         Scenario{.name = "second_signal_ends_a_wait",
                                                  .plays = {waits_until_cut, quick, quick, quick},
                                                  .second_signal_after = 3s,
                                                  .want = {skipped, done, done, done},
                                                  .whole = 6s},
                                         Scenario{.name = "second_signal_at_once_skips_the_wait",
                                                  .plays = {waits_until_cut, quick, quick, quick},
                                                  .second_signal_after = 0s,
                                                  .want = {skipped, done, done, done},
                                                  .whole = 3s},
                                         Scenario{.name = "second_signal_does_not_cut_a_flush",
                                                  .plays = {Play{.takes = 20s}, quick, Play{.takes = 4s}, quick},
                                                  .second_signal_after = 22s,
                                                  .want = {done, done, done, done},
                                                  .whole = 26s},
                                         Scenario{.name = "what_a_step_leaves_makes_the_exit_code",
                                                  .plays = {quick, leaves_some, quick, quick},
                                                  .want = {done, unfinished, done, done},
                                                  .exit = 1,
                                                  .whole = 4s},
                                         Scenario{.name = "session_lost_before_anything",
                                                  .plays = {quick, quick, quick, quick},
                                                  .session_lost_after = 0s,
                                                  .want = {done, without_session, without_session, done},
                                                  .exit = 1,
                                                  .whole = 2s},
                                         Scenario{.name = "session_lost_in_the_middle_of_a_handover",
                                                  .plays = {quick, waits_until_cut, quick, quick},
                                                  .session_lost_after = 5s,
                                                  .want = {done, without_session, without_session, done},
                                                  .exit = 1,
                                                  .whole = 6s}),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST(StopPlan, CountsEveryBudgetFromTheSignal) {
    StopPlan plan{steps_of_a_worker(), sigterm};
    std::vector<Duration> deadlines;
    while (const auto order = plan.next()) {
        deadlines.push_back(order->deadline - sigterm);
        plan.ended(StepResult{}, sigterm);
    }
    EXPECT_THAT(deadlines, ElementsAre(20s, 40s, 45s, 47s));
    EXPECT_EQ(plan.last_deadline(), sigterm + 47s);
}

TEST(StopPlan, SkipsAWaitWithoutABudget) {
    StopPlan plan{{{.name = "balancer_wait", .budget = 0s, .is_wait = true}, {.name = "close", .budget = 2s}}, sigterm};
    EXPECT_EQ(plan.next()->step, 1U);
    plan.ended(StepResult{}, sigterm);
    EXPECT_FALSE(plan.next().has_value());
    EXPECT_EQ(plan.exit_code(), 0);
}

TEST(StopPlan, SaysWhichBudgetIsUsedUp) {
    StopPlan plan{{{.name = "flush", .budget = 5s}}, sigterm};
    ASSERT_TRUE(plan.next());
    plan.ended(std::nullopt, sigterm + 5s);
    EXPECT_THAT(plan.reports(), ElementsAre(StepReport{"flush", overrun, "its budget of 5s is used up"}));
}

TEST(CheckGrace, AsksForTheSumAndFiveSecondsMore) {
    EXPECT_TRUE(check_grace(steps_of_a_worker(), 52s).has_value());
    const auto refused = check_grace(steps_of_a_worker(), 30s);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error(),
                HasSubstr("drain.grace is 30s, but the stop may take 47s (balancer_wait 20s + handover 20s "
                          "+ flush 5s + close 2s)"));
    EXPECT_THAT(refused.error(), HasSubstr("at least 52s"));
}

}  // namespace
}  // namespace longhold::lifecycle
