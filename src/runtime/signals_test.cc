// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/signals.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "loop_runner.h"

namespace longhold::runtime {
namespace {

using namespace std::chrono_literals;

Task<> raise_and_wait(Loop& loop, std::vector<int>& seen) {
    const Signals signals{
        loop,
        {.on_stop = [&seen](int signal) { seen.push_back(signal); }, .on_reload = [&seen] { seen.push_back(SIGHUP); }}};
    const Instant deadline = loop.clock().now() + 10s;
    for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGTERM}) {
        const std::size_t before = seen.size();
        ::kill(::getpid(), signal);
        while (seen.size() == before && loop.clock().now() < deadline) {
            co_await sleep_until(loop, loop.clock().now() + 1ms);
        }
    }
    ::kill(::getpid(), SIGPIPE);
}

TEST(Signals, ArriveOnTheLoopEachTime) {
    LoopRunner runner;
    std::vector<int> seen;
    runner.run(raise_and_wait(runner.loop, seen));
    EXPECT_EQ(seen, (std::vector<int>{SIGHUP, SIGTERM, SIGINT, SIGTERM}));
}

}  // namespace
}  // namespace longhold::runtime
