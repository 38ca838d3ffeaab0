// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/drain_order.h>

#include <string>
#include <vector>

namespace longhold::core {
namespace {

using namespace std::chrono_literals;

HeldConnection held(std::string_view id) {
    return {.id = ConnectionId{id}, .active_at = Instant{100s}, .cost = 100ms};
}

std::string order_of(const std::vector<HeldConnection>& connections) {
    std::string text;
    for (const auto index : drain_order(connections, {.handover = 20s}).order) {
        text += connections.at(index).id.text() + " ";
    }
    return text;
}

TEST(DrainOrder, HandsOverTheMostWithinAnyTime) {
    auto much = held("much");
    much.pending_bytes = 1'000'000;
    auto more = held("more");
    more.pending_bytes = 4'000'000;
    auto none = held("none");
    auto unstable = held("unstable");
    unstable.stability = 2;
    auto active = held("active");
    active.active_at = Instant{101s};
    active.pending_bytes = 100;  // too little to count
    auto quick = held("quick");
    quick.cost = 50ms;
    auto stopped = held("a-stopped");
    stopped.desired = DesiredState::stopped;
    auto deleted = held("deleted");
    deleted.desired = DesiredState::deleted;
    EXPECT_EQ(order_of({deleted, more, stopped, none, unstable, quick, much, active}),
              "active quick none unstable much more a-stopped deleted ");
}

struct LoadCase {
    std::string_view name;
    std::size_t count;
    Duration cost;
    std::uint64_t pending_bytes;
    DrainBudget budget;
    std::uint32_t concurrency;
    bool fits;
};

void PrintTo(const LoadCase& test, std::ostream* out) {
    *out << test.name;
}

class DrainLoad : public testing::TestWithParam<LoadCase> {};

TEST_P(DrainLoad, RunsAsFewAtOnceAsTheBudgetAllows) {
    auto one = held("one");
    one.cost = GetParam().cost;
    one.pending_bytes = GetParam().pending_bytes;
    const std::vector<HeldConnection> connections(GetParam().count, one);
    const auto drain = drain_order(connections, GetParam().budget);
    EXPECT_EQ(drain.concurrency, GetParam().concurrency);
    EXPECT_EQ(drain.fits, GetParam().fits);
    EXPECT_EQ(drain.fits, drain.expected <= GetParam().budget.handover);
    EXPECT_EQ(drain.order.size(), connections.size());
}

INSTANTIATE_TEST_SUITE_P(
    Table, DrainLoad,
    testing::Values(
        LoadCase{"none", 0, 100ms, 0, {.handover = 20s}, 1, true},
        LoadCase{"few", 10, 100ms, 0, {.handover = 20s}, 1, true},
        LoadCase{"many", 2000, 100ms, 0, {.handover = 20s}, 13, true},
        LoadCase{"too_many", 100'000, 100ms, 0, {.handover = 20s}, 256, false},
        LoadCase{"no_more_than_there_are", 3, 30s, 0, {.handover = 20s}, 3, false},
        LoadCase{
            "much_to_flush", 100, 100ms, 1'000'000, {.handover = 20s, .flush_bytes_per_second = 10'000'000}, 2, true},
        LoadCase{"too_much_to_flush",
                 100,
                 100ms,
                 10'000'000,
                 {.handover = 20s, .flush_bytes_per_second = 10'000'000},
                 100,
                 false},
        LoadCase{"no_time", 10, 100ms, 0, {.handover = 0s}, 10, false}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(DrainPlan, CountsAllDeadlinesFromTheSignal) {
    const auto plan = DrainPlan::from({.balancer_wait = 20s, .requests = 15s, .grace = 67s});
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_EQ(plan->deadline(DrainStep::balancer_wait), 20s);
    EXPECT_EQ(plan->deadline(DrainStep::requests), 35s);
    EXPECT_EQ(plan->deadline(DrainStep::handover), 55s);
    EXPECT_EQ(plan->deadline(DrainStep::flush), 60s);
    EXPECT_EQ(plan->total(), 62s);
    EXPECT_EQ(plan->step_at(0s), DrainStep::balancer_wait);
    EXPECT_EQ(plan->step_at(20s), DrainStep::requests);
    EXPECT_EQ(plan->step_at(61s), DrainStep::close);
    EXPECT_EQ(plan->step_at(62s), std::nullopt);
}

TEST(DrainPlan, LeavesOutStepsWithoutTime) {
    EXPECT_EQ(DrainPlan::from({})->step_at(0s), DrainStep::handover);
}

TEST(DrainPlan, MustFitIntoTheGrace) {
    EXPECT_TRUE(DrainPlan::from({.grace = 32s}));
    EXPECT_EQ(DrainPlan::from({.grace = 30s}).error(),
              "drain: handover 20s + flush 5s + close 2s + 5s to exit is 32s, but drain.grace is 30s; give the process "
              "more time to stop, or shorten a step");
    EXPECT_EQ(DrainPlan::from({.flush = -1s}).error(), "drain.flush is below zero");
}

TEST(DrainPlan, SkipsWaitsButNotFlushesAtASecondSignal) {
    const auto plan = DrainPlan::from({.balancer_wait = 20s, .requests = 15s}).value();
    const auto early = plan.without_waits(3s);
    EXPECT_EQ(early.step_at(3s), DrainStep::handover);
    EXPECT_EQ(early.deadline(DrainStep::handover), 23s);
    EXPECT_EQ(early.deadline(DrainStep::flush), 28s);
    EXPECT_EQ(early.total(), 30s);
    const auto late = plan.without_waits(50s);
    EXPECT_EQ(late.deadline(DrainStep::handover), plan.deadline(DrainStep::handover));
    EXPECT_EQ(late.total(), plan.total());
}

}  // namespace
}  // namespace longhold::core
