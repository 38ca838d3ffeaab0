// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/observation.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {
namespace {

struct WatchedCase {
    std::string_view name;
    std::vector<std::pair<std::string, std::size_t>> zones;  // and how many sessions each has
    std::size_t from_outside_least = 0;                      // watchers of other zones that each session has
};

class Watched : public ::testing::TestWithParam<WatchedCase> {
protected:
    std::vector<Watchable> fleet() const {
        std::vector<Watchable> all;
        for (const auto& [zone, count] : GetParam().zones) {
            for (std::size_t i = 0; i < count; ++i) {
                all.push_back({SessionId{"session-" + zone + std::to_string(i)}, zone});
            }
        }
        return all;
    }

    static std::set<SessionId> watched_by(const Watchable& own, std::vector<Watchable> all) {
        std::erase_if(all, [&](const auto& each) { return each.id == own.id; });
        return watched(own, all);
    }
};

TEST_P(Watched, EachWatchesThreeAndIsWatchedByThreeFromOutsideWherePossible) {
    const auto all = fleet();
    const std::size_t want = std::min(watched_next, all.size() - 1);
    std::map<SessionId, std::string> zone_of;
    for (const auto& each : all) {
        zone_of[each.id] = each.zone;
    }
    std::map<SessionId, std::size_t> watchers;
    std::map<SessionId, std::size_t> from_outside;
    for (const auto& own : all) {
        const auto next = watched_by(own, all);
        EXPECT_EQ(next.size(), want);
        EXPECT_FALSE(next.contains(own.id));
        for (const auto& id : next) {
            ++watchers[id];
            from_outside[id] += zone_of[id] == own.zone ? 0 : 1;
        }
    }
    for (const auto& each : all) {
        EXPECT_EQ(watchers[each.id], want) << each.id.text();
        EXPECT_GE(from_outside[each.id], GetParam().from_outside_least) << each.id.text();
    }
}

TEST_P(Watched, DoesNotDependOnTheOrderOfTheAnswer) {
    auto all = fleet();
    const auto own = all.front();
    const auto before = watched_by(own, all);
    std::ranges::reverse(all);
    EXPECT_EQ(watched_by(own, all), before);
}

TEST_P(Watched, OneThatDiesChangesOnlyWhatItsThreeWatchersWatchWhereThereIsOneZone) {
    auto all = fleet();
    if (GetParam().zones.size() != 1 || all.size() <= watched_next + 1) {
        return;
    }
    std::map<SessionId, std::set<SessionId>> before;
    for (const auto& own : all) {
        before[own.id] = watched_by(own, all);
    }
    const SessionId dead = all.back().id;
    all.pop_back();
    for (const auto& own : all) {
        if (!before[own.id].contains(dead)) {
            EXPECT_EQ(watched_by(own, all), before[own.id]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Table, Watched,
                         testing::Values(WatchedCase{"alone", {{"", 1}}}, WatchedCase{"three", {{"", 3}}},
                                         WatchedCase{"no_zones", {{"", 40}}},
                                         WatchedCase{"three_even_zones", {{"a", 14}, {"b", 14}, {"c", 14}}, 2},
                                         WatchedCase{"two_even_zones", {{"a", 20}, {"b", 20}}, 2},
                                         WatchedCase{"uneven_zones", {{"a", 20}, {"b", 12}, {"c", 8}}, 1},
                                         WatchedCase{"nearly_one_zone", {{"a", 37}, {"b", 3}}}),
                         [](const auto& test) { return std::string{test.param.name}; });

}  // namespace
}  // namespace longhold::core
