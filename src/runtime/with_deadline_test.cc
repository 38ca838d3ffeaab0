// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/with_deadline.h>

#include <stdexcept>
#include <string>

#include "loop_runner.h"

namespace longhold::runtime {
namespace {

using namespace std::chrono_literals;
using Number = std::expected<int, std::string>;

struct Ended {
    bool& flag;

    ~Ended() { flag = true; }
};

Task<Number> slow(Loop& loop, Duration takes, bool& ended) {
    const Ended mark{ended};
    co_await sleep_until(loop, loop.clock().now() + takes);
    co_return 7;
}

Task<Number> refuse() {
    co_return std::unexpected("no");
}

Task<Number> throw_now() {
    throw std::runtime_error("broken");
    co_return 1;
}

Task<> expect_result(Loop& loop) {
    bool ended = false;
    const auto outcome = co_await with_deadline(loop, loop.clock().now() + 10s, slow(loop, 1ms, ended));
    EXPECT_TRUE(outcome.has_value() && outcome->has_value() && **outcome == 7);
    const auto refused = co_await with_deadline(loop, loop.clock().now() + 10s, refuse());
    EXPECT_TRUE(refused.has_value() && !refused->has_value());
}

TEST(WithDeadline, HandsOnResultsAndErrors) {
    LoopRunner runner;
    runner.run(expect_result(runner.loop));
}

Task<> expect_timeout(Loop& loop) {
    bool ended = false;
    const Instant deadline = loop.clock().now() + 20ms;
    const auto outcome = co_await with_deadline(loop, deadline, slow(loop, 1h, ended));
    EXPECT_FALSE(outcome.has_value());
    EXPECT_TRUE(ended) << "the operation has ended when the timeout is told";
    EXPECT_GE(loop.clock().now(), deadline);
}

TEST(WithDeadline, EndsTheOperationAtTheDeadline) {
    LoopRunner runner;
    runner.run(expect_timeout(runner.loop));
}

Task<> expect_throw(Loop& loop, Instant deadline) {
    (void)co_await with_deadline(loop, deadline, throw_now());
}

TEST(WithDeadline, HandsOnAThrowAtOnce) {
    LoopRunner runner;
    const Instant deadline = runner.clock.now() + 1h;
    EXPECT_THROW(runner.run(expect_throw(runner.loop, deadline)), std::runtime_error);
}

Task<> wait_inside(Loop& loop, bool& ended, bool& went_on) {
    (void)co_await with_deadline(loop, loop.clock().now() + 1h, slow(loop, 1h, ended));
    went_on = true;
}

Task<> stop_from_outside(Loop& loop, bool& ended, bool& went_on) {
    TaskGroup group{loop};
    group.spawn(wait_inside(loop, ended, went_on));
    co_await sleep_until(loop, loop.clock().now() + 5ms);
    group.stop();
    co_await group.join();
}

TEST(WithDeadline, ACancelledCallerDoesNotTakeItForATimeout) {
    LoopRunner runner;
    bool ended = false;
    bool went_on = false;
    runner.run(stop_from_outside(runner.loop, ended, went_on));
    EXPECT_TRUE(ended);
    EXPECT_FALSE(went_on);
}

Task<> wait_once(Event& event, int& wakes) {
    co_await event.wait();
    ++wakes;
}

Task<> two_waiters(Loop& loop, int& wakes) {
    Event event{loop};
    TaskGroup group{loop};
    group.spawn(wait_once(event, wakes));
    group.spawn(wait_once(event, wakes));
    co_await sleep_until(loop, loop.clock().now() + 5ms);
    EXPECT_EQ(wakes, 0) << "a second waiter wakes the first";
    event.notify();
    co_await group.join();
}

TEST(Event, SecondWaiterLeavesTheFirstAsleepAndNotifyWakesBoth) {
    LoopRunner runner;
    int wakes = 0;
    runner.run(two_waiters(runner.loop, wakes));
    EXPECT_EQ(wakes, 2);
}

}  // namespace
}  // namespace longhold::runtime
