// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/lifecycle/start_sequence.h>
#include <longhold/lifecycle/stop_sequence.h>

#include <stdexcept>

#include "loop_runner.h"

namespace longhold::lifecycle {
namespace {

using namespace std::chrono_literals;
using runtime::Loop;
using runtime::Task;
using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

// A step that notes its name, and what it does then.
Task<StepResult> note(Names& names, std::string name) {
    names.push_back(std::move(name));
    co_return StepResult{};
}

Task<StepResult> refuse(Names& names, std::string name) {
    names.push_back(std::move(name));
    co_return std::unexpected("the store says no");
}

Task<StepResult> hang(Loop& loop, Names& names, std::string name) {
    names.push_back(name);

    struct Cancelled {
        Names& names;
        std::string name;

        ~Cancelled() { names.push_back(name + " cancelled"); }
    } const cancelled{names, name};

    co_await runtime::sleep_until(loop, loop.clock().now() + 1h);
    co_return StepResult{};
}

Task<StepResult> throw_now() {
    throw std::runtime_error("broken");
    co_return StepResult{};
}

class SequenceTest : public testing::Test {
protected:
    StepWork noting(std::string name) {
        return [this, name](Instant) { return note(names, name); };
    }

    StepWork refusing(std::string name) {
        return [this, name](Instant) { return refuse(names, name); };
    }

    StepWork hanging(std::string name) {
        return [this, name](Instant) { return hang(runner.loop, names, name); };
    }

    Task<> start(std::vector<StartStep> steps) {
        outcome = co_await run_start(runner.loop, *log, std::move(steps), [this] { names.push_back("ready"); });
    }

    LoopRunner runner;
    std::unique_ptr<telemetry::Log> log = telemetry::Log::silent();
    Names names;
    std::expected<void, StartFailure> outcome;
};

TEST_F(SequenceTest, StartRunsItsStepsInOrderAndThenIsReady) {
    runner.run(start({{"store", 5s, noting("store")}, {"sinks", 5s, noting("sinks")}}));
    EXPECT_TRUE(outcome.has_value());
    EXPECT_THAT(names, ElementsAre("store", "sinks", "ready"));
}

TEST_F(SequenceTest, StartStopsAtTheFirstFailure) {
    runner.run(start({{"store", 5s, refusing("store")}, {"sinks", 5s, noting("sinks")}}));
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().step, "store");
    EXPECT_EQ(outcome.error().reason, "the store says no");
    EXPECT_THAT(names, ElementsAre("store"));
}

TEST_F(SequenceTest, AMissedDeadlineEndsTheStartWithItsReason) {
    runner.run(start({{"store", 50ms, hanging("store")}, {"sinks", 5s, noting("sinks")}}));
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().reason, "it was not done within 50ms");
    EXPECT_THAT(names, ElementsAre("store", "store cancelled"));
}

Task<> stop(StopSequence& sequence, int& exit) {
    exit = co_await sequence.run();
}

TEST_F(SequenceTest, StopRunsItsStepsInOrderAndExitsZero) {
    StopSequence sequence{runner.loop,
                          *log,
                          {{{.name = "wait", .budget = 0s, .is_wait = true}, noting("wait")},
                           {{.name = "handover", .budget = 5s}, noting("handover")},
                           {{.name = "close", .budget = 5s}, noting("close")}},
                          runner.clock.now()};
    int exit = -1;
    runner.run(stop(sequence, exit));
    EXPECT_EQ(exit, 0);
    EXPECT_THAT(names, ElementsAre("handover", "close"));
}

TEST_F(SequenceTest, StopCutsAnOverrunAndGoesOn) {
    StopSequence sequence{runner.loop,
                          *log,
                          {{{.name = "handover", .budget = 50ms}, hanging("handover")},
                           {{.name = "flush", .budget = 5s}, [](Instant) { return throw_now(); }},
                           {{.name = "leave", .budget = 5s}, refusing("leave")},
                           {{.name = "close", .budget = 5s}, noting("close")}},
                          runner.clock.now()};
    int exit = -1;
    runner.run(stop(sequence, exit));
    EXPECT_EQ(exit, 1);
    EXPECT_THAT(names, ElementsAre("handover", "handover cancelled", "leave", "close"));
    EXPECT_THAT(sequence.reports(),
                ElementsAre(StepReport{"handover", StepEnd::overrun, "its budget of 50ms is used up"},
                            StepReport{"flush", StepEnd::unfinished, "it threw: broken"},
                            StepReport{"leave", StepEnd::unfinished, "the store says no"},
                            StepReport{"close", StepEnd::done, ""}));
}

Task<> stop_and_signal_again(Loop& loop, StopSequence& sequence, int& exit) {
    runtime::TaskGroup group{loop};
    group.spawn(stop(sequence, exit));
    co_await runtime::yield(loop);
    sequence.hurry();
    co_await group.join();
}

TEST_F(SequenceTest, ASecondSignalEndsTheWaitAtOnceAndNotTheFlush) {
    const Instant began = runner.clock.now();
    StopSequence sequence{runner.loop,
                          *log,
                          {{{.name = "wait", .budget = 1h, .is_wait = true}, hanging("wait")},
                           {{.name = "flush", .budget = 5s}, noting("flush")}},
                          began};
    int exit = -1;
    runner.run(stop_and_signal_again(runner.loop, sequence, exit));
    EXPECT_EQ(exit, 0);
    EXPECT_LT(runner.clock.now() - began, 10s);
    EXPECT_EQ(names.back(), "flush");
}

}  // namespace
}  // namespace longhold::lifecycle
