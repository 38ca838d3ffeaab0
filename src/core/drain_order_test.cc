// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/drain_order.h>

#include <deque>
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

// Closes `count` connections, each of which takes `each`, at the pace of a drain that expected `expected`; when the
// last one is through.
Duration drain_for(std::size_t count, Duration each, Duration expected, Duration due) {
    DrainPace pace{64, expected, Instant{due}};
    std::deque<Instant> closing;
    Instant now{};
    std::size_t waiting = count;
    while (waiting > 0 || !closing.empty()) {
        while (waiting > 0 && closing.size() < pace.at_once(waiting + closing.size(),
                                                            closing.empty() ? 0s : now - closing.front(), now)) {
            closing.push_back(now);
            --waiting;
        }
        if (closing.front() + each > now + 500ms) {
            now += 500ms;  // the engine looks at least so often
            continue;
        }
        now = closing.front() + each;
        closing.pop_front();
        pace.took(each);
    }
    return now - Instant{};
}

TEST(DrainPace, FollowsWhatAHandoverReallyTakes) {
    EXPECT_LE(drain_for(10'000, 2s, 400ms, 12s), 14s) << "no upstream answers the close";
    EXPECT_LE(drain_for(10'000, 6s, 400ms, 12s), 18s) << "what is not through yet tells how long it takes";
    EXPECT_LE(drain_for(10'000, 100ms, 400ms, 12s), 12s);
    EXPECT_GE(drain_for(1'000, 100ms, 400ms, 12s), 1s) << "no faster than there is need";
}

TEST(DrainPace, TakesMoreAtOnceWhileHandoversAreQuickAndFewerWhenTheyAreNot) {
    DrainPace pace{16, 100ms, Instant{20s}};
    for (int i = 0; i < 100; ++i) {
        pace.took(5ms);
    }
    EXPECT_EQ(pace.at_once(1'000, 0s, Instant{1s}), 116U);
    for (int i = 0; i < 1'000; ++i) {
        pace.took(80ms);
    }
    EXPECT_EQ(pace.at_once(1'000, 0s, Instant{1s}), 16U);
    EXPECT_EQ(pace.at_once(10, 0s, Instant{1s}), 16U);
}

TEST(DrainPace, ClosesAllWhenTheTimeIsOver) {
    const DrainPace pace{64, 400ms, Instant{20s}};
    EXPECT_EQ(pace.at_once(5'000, 0s, Instant{21s}), 5'000U);
    EXPECT_EQ(pace.at_once(10, 0s, Instant{1s}), 64U);
}

}  // namespace
}  // namespace longhold::core
