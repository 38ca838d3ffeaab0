// SPDX-License-Identifier: Apache-2.0
// What an observer does when it could not see, and when many sessions look dead at once (rule 7).
#include <gtest/gtest.h>
#include <longhold/core/mass_expiry.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../testing/row_fleet.h"

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

struct ShareCase {
    std::string_view name;
    std::size_t dead = 0;
    std::size_t sessions = 0;
    bool alarm = false;
};

class MassExpiryShare : public ::testing::TestWithParam<ShareCase> {};

TEST_P(MassExpiryShare, Rule7AtLeastHalfAndMoreThanOneIsAnAlarm) {
    MassExpiry guard;
    const Instant now{1h};
    EXPECT_EQ(guard.begins(GetParam().dead, GetParam().sessions, now, 6s), GetParam().alarm);
    EXPECT_EQ(guard.fence_at(), GetParam().alarm ? now + 6s : Instant::min());
}

INSTANTIATE_TEST_SUITE_P(Table, MassExpiryShare,
                         ::testing::Values(ShareCase{"one_of_one", 1, 1, false}, ShareCase{"one_of_two", 1, 2, false},
                                           ShareCase{"one_of_three", 1, 3, false}, ShareCase{"two_of_two", 2, 2, true},
                                           ShareCase{"two_of_three", 2, 3, true}, ShareCase{"two_of_four", 2, 4, true},
                                           ShareCase{"two_of_five", 2, 5, false}, ShareCase{"ten_of_21", 10, 21, false},
                                           ShareCase{"all", 20, 20, true}),
                         [](const auto& test) { return std::string{test.param.name}; });

// Real workers, all of which have seen each other.
class MassExpiryOf : public ::testing::Test {
protected:
    void start(std::size_t workers) {
        world = std::make_unique<EngineWorld>(workers);
        world->run_for(10s);
        for (int i = 0; i < 20; ++i) {
            world->store.put("c" + std::to_string(i));
        }
        ASSERT_TRUE(world->run_until([&] { return world->all_held_once(); }, 5s));
    }

    void kill(std::size_t first, std::size_t count) {
        killed_at = world->now();
        for (std::size_t i = first; i < first + count; ++i) {
            world->kill(i);
            dead.push_back(world->worker(i).session);
        }
    }

    [[nodiscard]] bool all_fenced() const {
        return std::ranges::all_of(
            dead, [&](const auto& id) { return world->store.sessions.at(id).state == SessionState::fenced; });
    }

    [[nodiscard]] int alarms(std::size_t worker) const { return world->worker(worker).news[News::mass_expiry]; }

    std::unique_ptr<EngineWorld> world;
    std::vector<SessionId> dead;
    Instant killed_at{};
};

TEST_F(MassExpiryOf, Rule7ASingleDeadSessionIsFencedAtOnceAlsoOfTwoOrThree) {
    for (const std::size_t workers : {2U, 3U}) {
        dead.clear();
        start(workers);
        kill(1, 1);
        ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 10s));
        EXPECT_LE(world->now() - killed_at, 6s + 300ms);
        EXPECT_EQ(alarms(0), 0);
    }
}

TEST_F(MassExpiryOf, Rule7TwoDeadOfFiveAreFencedAtOnce) {
    start(5);
    kill(3, 2);
    ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 10s));
    EXPECT_LE(world->now() - killed_at, 6s + 300ms);
    EXPECT_EQ(alarms(0), 0);
}

TEST_F(MassExpiryOf, Rule7HalfOfTheSessionsAreFencedAfterAnAlarmAndOneMoreLease) {
    for (const std::size_t workers : {3U, 4U}) {
        dead.clear();
        start(workers);
        kill(workers - 2, 2);
        ASSERT_TRUE(world->run_until([&] { return alarms(0) > 0; }, 10s));
        const Instant alarm_at = world->now();
        world->run_for(6s - 10ms);
        EXPECT_TRUE(
            std::ranges::none_of(dead, [&](const auto& id) { return is_final(world->store.sessions.at(id).state); }));
        ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 5s)) << "the guard delays, it never forbids";
        EXPECT_LE(world->now() - alarm_at, 6s + 300ms);
        EXPECT_TRUE(world->run_until([&] { return world->all_held_once(); }, 2s));
        EXPECT_EQ(alarms(0), 1);
        EXPECT_EQ(world->owners_max(), 1U);
    }
}

TEST_F(MassExpiryOf, Rule7AWaveIsFencedOneAfterTheOther) {
    start(12);
    std::vector<Instant> fences;
    world->fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<Fence>(request)) {
            fences.push_back(world->now());
        }
        return Fate::pass;
    };
    kill(1, 11);
    ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 20s));
    ASSERT_EQ(fences.size(), 11U);
    for (std::size_t i = 1; i < fences.size(); ++i) {
        EXPECT_GE(fences[i] - fences[i - 1], EngineConfig{}.mass_fence_every);
    }
    EXPECT_LE(fences.back() - fences.front(), 11 * (EngineConfig{}.mass_fence_every + 10ms));
    EXPECT_EQ(alarms(0), 1) << "once per wave";
}

TEST_F(MassExpiryOf, Rule7AfterAnOutageOfHalfALeaseObservationRestartsOnce) {
    start(2);
    bool blind = false;
    world->fate = [&](std::size_t index, const Request& request) {
        return blind && index == 0 && std::holds_alternative<ListSessions>(request) ? Fate::fail_at_once : Fate::pass;
    };
    kill(1, 1);
    world->run_for(2s);
    blind = true;
    world->run_for(5s);
    EXPECT_FALSE(all_fenced()) << "nobody is fenced by one that cannot see";
    blind = false;
    const Instant sees_again_at = world->now();
    ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 10s));
    EXPECT_GE(world->now() - sees_again_at, EngineConfig{}.suspect_after(6s));
    EXPECT_LE(world->now() - sees_again_at, EngineConfig{}.suspect_after(6s) + 300ms);
}

TEST_F(MassExpiryOf, Rule7AShorterOutageKeepsTheClocks) {
    start(2);
    bool blind = false;
    world->fate = [&](std::size_t index, const Request& request) {
        return blind && index == 0 && std::holds_alternative<ListSessions>(request) ? Fate::fail_at_once : Fate::pass;
    };
    kill(1, 1);
    world->run_for(3s);
    blind = true;
    world->run_for(2500ms);
    blind = false;
    ASSERT_TRUE(world->run_until([&] { return all_fenced(); }, 10s));
    EXPECT_LE(world->now() - killed_at, 6s + 300ms);
}

struct FenceLog {
    explicit FenceLog(RowFleet& fleet) {
        fleet.world.fate = [this, &fleet](std::size_t, const Request& request) {
            if (const auto* fence = std::get_if<Fence>(&request)) {
                at.push_back(fleet.world.now());
                sessions.insert(fence->session);
            }
            return Fate::pass;
        };
    }

    std::vector<Instant> at;
    std::set<SessionId> sessions;
};

TEST(MassExpiryOfRows, Rule7SessionsThatComeBackInTheWaitAreNotFenced) {
    RowFleet fleet{6};
    FenceLog fences{fleet};
    fleet.run(5);
    fleet.run(9, fleet.rows());
    EXPECT_EQ(fleet.world.worker(0).news[News::mass_expiry], 1);
    fleet.run(20);
    EXPECT_TRUE(fences.at.empty());
}

TEST(MassExpiryOfRows, Rule7OneThatDiesDuringAWaveIsNotWaitedForAgain) {
    RowFleet fleet{6};
    FenceLog fences{fleet};
    fleet.run(5);
    auto still = fleet.rows();
    const SessionId late = *still.begin();
    still.erase(late);
    fleet.run(6, still);
    still.insert(late);
    fleet.run(9, still);
    EXPECT_EQ(fences.sessions, still);
    EXPECT_EQ(fleet.world.worker(0).news[News::mass_expiry], 1);
}

TEST(MassExpiryOfRows, Rule7AnotherWaveIsWaitedForAnew) {
    RowFleet fleet{6};
    fleet.run(5);
    for (int wave = 1; wave <= 2; ++wave) {
        fleet.run(8, fleet.rows());
        fleet.run(10);
        EXPECT_EQ(fleet.world.worker(0).news[News::mass_expiry], wave);
    }
}

TEST(MassExpiryOfRows, Rule7OnARingTheWholeFleetIsCountedBeforeAFence) {
    RowFleet fleet{39};
    FenceLog fences{fleet};
    fleet.run(15);
    const auto still = fleet.rows();
    fleet.run(10, still);
    EXPECT_EQ(fleet.world.worker(0).news[News::mass_expiry], 1);
    EXPECT_TRUE(fences.at.empty());
    fleet.run(10, still);
    EXPECT_EQ(fences.sessions, still);
    EXPECT_EQ(fleet.world.worker(0).news[News::mass_expiry], 1);
}

}  // namespace
}  // namespace longhold::core::testing
