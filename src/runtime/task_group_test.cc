// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/task_group.h>

#include <boost/asio/co_spawn.hpp>
#include <stdexcept>

namespace longhold::runtime {
namespace {

using namespace std::chrono_literals;

class TaskGroupTest : public testing::Test {
protected:
    // Runs `task` on the loop to its end; rethrows what it threw.
    void run(Task<> task) {
        std::exception_ptr failure;
        boost::asio::co_spawn(loop_.context(), std::move(task), [&](std::exception_ptr thrown) {
            failure = std::move(thrown);
            loop_.finish();
        });
        loop_.run();
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    SystemClock clock_;
    Loop loop_{clock_};
};

Task<> wait_for_ever(Loop& loop, bool& ended) {
    Event never{loop};
    try {
        for (;;) {
            co_await never.wait();
        }
    } catch (...) {
        ended = true;
        throw;
    }
}

Task<> fail() {
    throw std::runtime_error("broken");
    co_return;
}

Task<> stop_and_join(Loop& loop, bool& first, bool& second) {
    TaskGroup group{loop};
    group.spawn(wait_for_ever(loop, first));
    group.spawn(wait_for_ever(loop, second));
    co_await yield(loop);
    group.stop();
    co_await group.join();
}

TEST_F(TaskGroupTest, StopEndsEveryTaskAndJoinReturns) {
    bool first = false;
    bool second = false;
    run(stop_and_join(loop_, first, second));
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
}

Task<> join_with_a_failure(Loop& loop, bool& other) {
    TaskGroup group{loop};
    group.spawn(wait_for_ever(loop, other));
    group.spawn(fail());
    co_await group.join();
}

TEST_F(TaskGroupTest, AFailureStopsTheOthersAndIsRethrown) {
    bool other = false;
    EXPECT_THROW(run(join_with_a_failure(loop_, other)), std::runtime_error);
    EXPECT_TRUE(other);
}

Task<> spawn_after_stop(Loop& loop, bool& started) {
    TaskGroup group{loop};
    group.stop();
    group.spawn(wait_for_ever(loop, started));
    co_await group.join();
}

TEST_F(TaskGroupTest, NothingStartsAfterStop) {
    bool started = false;
    run(spawn_after_stop(loop_, started));
    EXPECT_FALSE(started);
}

Task<> sleep_a_little(Loop& loop, Instant until) {
    co_await sleep_until(loop, until);
}

TEST_F(TaskGroupTest, SleepEndsAtOrAfterItsInstant) {
    const Instant until = clock_.now() + 20ms;
    run(sleep_a_little(loop_, until));
    EXPECT_GE(clock_.now(), until);
}

TEST(LoopTicks, AreSeenFromOutside) {
    const SystemClock clock;
    Loop loop{clock};
    const Instant start = clock.now();
    loop.post([&] { loop.finish(); });
    loop.run();
    EXPECT_GE(loop.ticked_at(), start);
}

}  // namespace
}  // namespace longhold::runtime
