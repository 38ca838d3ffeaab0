// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/thread.h>
#include <longhold/runtime/watchdog.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <semaphore>

#include "tcp_pair.h"

namespace longhold::runtime {
namespace {

using namespace std::chrono_literals;

constexpr int patience_ms = 10'000;

// A loop on a thread of its own.
struct RunningLoop {
    explicit RunningLoop(const Clock& clock) : loop(clock) {}

    ~RunningLoop() { loop.finish(); }

    Loop loop;
    Thread thread{"test-loop", [this] { loop.run(); }};
};

class WatchdogTest : public testing::Test {
protected:
    std::shared_ptr<ActingRight> right_for(Duration duration) const {
        auto right = std::make_shared<ActingRight>();
        right->extend_until(clock.now() + duration);
        return right;
    }

    SystemClock clock;
    AbortTable sockets{16};
    std::binary_semaphore called{0};
};

TEST_F(WatchdogTest, RevokesAndResetsAtTheDeadlineWhileALoopIsBlocked) {
    const TcpPair pair;
    ASSERT_TRUE(sockets.enter(pair.ours, 0).valid());
    std::binary_semaphore unblock{0};
    RunningLoop blocked{clock};
    blocked.loop.post([&] { unblock.acquire(); });
    Watchdog watchdog{clock, sockets, {}};
    const auto right = right_for(100ms);
    std::atomic<Duration::rep> fired_at{0};
    const auto watch = watchdog.watch_right(right, [&] {
        fired_at = clock.now().time_since_epoch().count();
        called.release();
    });
    EXPECT_TRUE(right->holds(clock.now()));
    EXPECT_TRUE(pair.was_reset(patience_ms));
    called.acquire();
    EXPECT_TRUE(right->revoked());
    EXPECT_GE(fired_at.load(), right->deadline().time_since_epoch().count()) << "never before its deadline";
    unblock.release();
}

TEST_F(WatchdogTest, AnExtendedRightIsNotTouchedAtItsFormerDeadline) {
    const TcpPair pair;
    ASSERT_TRUE(sockets.enter(pair.ours, 0).valid());
    Watchdog watchdog{clock, sockets, {}};
    const auto right = right_for(100ms);
    const Instant former = right->deadline();
    const auto watch = watchdog.watch_right(right, [&] { called.release(); });
    right->extend_until(former + 200ms);
    const auto after_former = watchdog.call_at(former + 100ms, [&] {
        EXPECT_FALSE(right->revoked());
        EXPECT_FALSE(pair.was_reset());
    });
    called.acquire();
    EXPECT_GE(clock.now(), former + 200ms);
    EXPECT_TRUE(pair.was_reset(patience_ms));
}

TEST_F(WatchdogTest, AnEndedWatchIsNeverCalled) {
    Watchdog watchdog{clock, sockets, {}};
    const auto right = right_for(50ms);
    auto watch = watchdog.watch_right(right, [] { ADD_FAILURE() << "the watch was ended"; });
    watch.reset();
    const auto later = watchdog.call_at(right->deadline() + 50ms, [&] { called.release(); });
    called.acquire();
    EXPECT_FALSE(right->revoked());
}

TEST_F(WatchdogTest, AWatchMayEndItselfFromItsCallback) {
    Watchdog watchdog{clock, sockets, {}};
    std::unique_ptr<Watch> watch;
    std::binary_semaphore assigned{0};
    watch = watchdog.call_at(clock.now(), [&] {
        assigned.acquire();
        watch.reset();
        called.release();
    });
    assigned.release();
    called.acquire();
    EXPECT_EQ(watch, nullptr);
}

TEST_F(WatchdogTest, AStuckLoopLosesItsSocketsAndItsRightAndNoOtherDoes) {
    const TcpPair of_stuck;
    const TcpPair of_other;
    ASSERT_TRUE(sockets.enter(of_stuck.ours, 1).valid());
    ASSERT_TRUE(sockets.enter(of_other.ours, 2).valid());
    std::binary_semaphore unblock{0};
    RunningLoop stuck{clock};
    RunningLoop other{clock};
    Watchdog watchdog{clock, sockets, {}};
    const auto right = right_for(1h);
    std::atomic<int> times{0};
    const auto watch_stuck = watchdog.watch_loop(
        stuck.loop, 1, 200ms,
        [&] {
            ++times;
            called.release();
        },
        right);
    const auto watch_other = watchdog.watch_loop(other.loop, 2, 2s, [] { ADD_FAILURE() << "this loop ticks"; });
    stuck.loop.post([&] { unblock.acquire(); });
    EXPECT_TRUE(of_stuck.was_reset(patience_ms));
    called.acquire();
    EXPECT_TRUE(right->revoked());
    EXPECT_FALSE(of_other.was_reset());
    EXPECT_EQ(times.load(), 1) << "told once for each time that it sticks";
    unblock.release();
    // It ticks again, and sticks again.
    const Instant before = clock.now();
    while (stuck.loop.ticked_at() < before) {
        ::poll(nullptr, 0, 1);
    }
    stuck.loop.post([&] { unblock.acquire(); });
    called.acquire();
    EXPECT_EQ(times.load(), 2);
    unblock.release();
}

// What the child of the next test does: holds one socket, with a right that its parent stops it beyond.
[[noreturn]] void hold_until_expired(const TcpPair& pair, int report, Duration right_lasts) {
    const SystemClock clock;
    AbortTable sockets{4};
    if (!sockets.enter(pair.ours, 0).valid()) {
        ::_exit(2);
    }
    const auto right = std::make_shared<ActingRight>();
    std::atomic<bool> reset_before_pause_was_told{false};
    std::binary_semaphore paused{0};
    Watchdog watchdog{clock, sockets, {.pause_min = 500ms, .on_pause = [&](Pause pause) {
                                           reset_before_pause_was_told = right->revoked() && pause.length >= 500ms &&
                                                                         pause.kind == Pause::Kind::late_wake;
                                           paused.release();
                                       }}};
    RunningLoop loop{clock};
    std::atomic<bool> loop_blamed{false};
    const auto loop_watch = watchdog.watch_loop(loop.loop, 7, 1s, [&] { loop_blamed = true; });
    right->extend_until(clock.now() + right_lasts);
    const auto watch = watchdog.watch_right(right, [] {});
    const char ready = 'r';
    if (::write(report, &ready, 1) != 1) {
        ::_exit(3);
    }
    paused.acquire();
    if (!reset_before_pause_was_told) {
        ::_exit(4);
    }
    // A loop that was stopped with the process is not stuck.
    std::binary_semaphore looked{0};
    const auto later = watchdog.call_at(clock.now() + 300ms, [&] { looked.release(); });
    looked.acquire();
    ::_exit(loop_blamed ? 5 : 0);
}

TEST_F(WatchdogTest, AProcessStoppedBeyondItsDeadlineResetsItsSocketsAtOnceWhenItGoesOn) {
    const TcpPair pair;
    int report[2] = {-1, -1};
    ASSERT_EQ(::pipe(report), 0);
    constexpr Duration right_lasts = 1500ms;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::close(pair.theirs);
        hold_until_expired(pair, report[1], right_lasts);
    }
    char ready = 0;
    ASSERT_EQ(::read(report[0], &ready, 1), 1);
    ASSERT_EQ(::kill(child, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    ::poll(nullptr, 0, 3000);  // the time passes for the stopped process: nothing can be waited for
    EXPECT_FALSE(pair.was_reset()) << "a stopped process cannot have reset anything";
    const Instant continued_at = clock.now();
    ASSERT_EQ(::kill(child, SIGCONT), 0);
    EXPECT_TRUE(pair.was_reset(patience_ms));
    EXPECT_LT(clock.now() - continued_at, 500ms);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    ::close(report[0]);
    ::close(report[1]);
}

}  // namespace
}  // namespace longhold::runtime
