// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/lifecycle/reload.h>

namespace longhold::lifecycle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ReloadPart good_part(std::string name, std::vector<std::string>& applied,
                     std::vector<std::string> restart_needed = {}) {
    return {name, [name, &applied, restart_needed] {
                return std::expected<ReloadChange, std::string>{
                    ReloadChange{[name, &applied] { applied.push_back(name); }, restart_needed}};
            }};
}

ReloadPart bad_part(std::string name) {
    return {name, []() -> std::expected<ReloadChange, std::string> { return std::unexpected("line 3 is wrong"); }};
}

TEST(Reload, AppliesEveryPartAndNamesWhatNeedsARestart) {
    const auto log = telemetry::Log::silent();
    std::vector<std::string> applied;
    const auto report = reload({good_part("log", applied), good_part("profiles", applied, {"worker.threads"})}, *log);
    EXPECT_TRUE(report.applied);
    EXPECT_THAT(applied, ElementsAre("log", "profiles"));
    EXPECT_THAT(report.restart_needed, ElementsAre("worker.threads"));
}

TEST(Reload, AppliesNothingWhenOnePartIsWrongAndNamesAllThatAre) {
    const auto log = telemetry::Log::silent();
    std::vector<std::string> applied;
    const auto report = reload({good_part("log", applied), bad_part("profiles"), bad_part("secrets")}, *log);
    EXPECT_FALSE(report.applied);
    EXPECT_THAT(applied, IsEmpty());
    EXPECT_THAT(report.errors, ElementsAre("profiles: line 3 is wrong", "secrets: line 3 is wrong"));
}

}  // namespace
}  // namespace longhold::lifecycle
