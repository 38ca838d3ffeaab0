// SPDX-License-Identifier: Apache-2.0
#include "serve_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longhold::app {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

config::Settings with_short_budgets() {
    config::Settings settings;
    settings.lease.heartbeat_every = 2s;
    settings.drain.balancer_wait = 0s;
    settings.drain.handover = 5s;
    settings.drain.flush = 3s;
    settings.drain.close = 1s;
    return settings;
}

TEST(StopSteps, WaitUntilOthersHaveSeenTheDrain) {
    auto settings = with_short_budgets();
    EXPECT_EQ(stop_step_specs(settings, false).front().budget, 0s);
    EXPECT_EQ(stop_step_specs(settings, true).front().budget, 2200ms);
    settings.drain.balancer_wait = 10s;
    EXPECT_EQ(stop_step_specs(settings, true).front().budget, 10s) << "both waits pass at once";
}

TEST(Grace, CoversTheWaitForOthers) {
    auto settings = with_short_budgets();
    EXPECT_TRUE(check_grace(settings).has_value()) << "nothing was told";
    settings.drain.grace = 16200ms;
    EXPECT_TRUE(check_grace(settings).has_value());
    settings.drain.grace = 16s;
    const auto refused = check_grace(settings);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error(), HasSubstr("drain.grace is 16s, but the stop may take 11s200ms"));
}

TEST(ServeOptions, KeepDescriptorsForWhatIsNoConnection) {
    EXPECT_EQ(connections_within(20'000, 10'000), 10'000U);
    EXPECT_EQ(connections_within(1'024, 10'000), 960U);
    EXPECT_EQ(connections_within(40, 10'000), 20U);
}

}  // namespace
}  // namespace longhold::app
