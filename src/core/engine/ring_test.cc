// SPDX-License-Identifier: Apache-2.0
// Observation in fleets where not everybody watches everybody (rule 2).
#include <gtest/gtest.h>
#include <longhold/core/observation.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../testing/row_fleet.h"

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

// A fleet in which everybody has seen everybody.
class Ring : public ::testing::Test {
protected:
    void start(std::size_t workers, Duration unowned_every = 5s) {
        count = workers;
        EngineConfig config;
        config.unowned_every = unowned_every;
        world = std::make_unique<EngineWorld>(workers, config);
        ASSERT_TRUE(world->run_until(
            [&] {
                for (std::size_t i = 0; i < count; ++i) {
                    if (world->worker(i).session.empty() || world->worker(i).engine.active_peers() + 1 < count) {
                        return false;
                    }
                }
                return true;
            },
            15s));
        world->run_for(7s);
    }

    // Who watches `victim` closely.
    std::vector<std::size_t> watchers_of(std::size_t victim) {
        std::vector<std::size_t> watchers;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<Watchable> others;
            for (std::size_t j = 0; j < count; ++j) {
                if (j != i) {
                    others.push_back({world->worker(j).session, world->worker(j).engine.config().zone});
                }
            }
            if (i != victim && watched({world->worker(i).session, world->worker(i).engine.config().zone}, others)
                                   .contains(world->worker(victim).session)) {
                watchers.push_back(i);
            }
        }
        return watchers;
    }

    [[nodiscard]] bool fenced(std::size_t index) {
        return world->store.sessions.at(world->worker(index).session).state == SessionState::fenced;
    }

    std::size_t count = 0;
    std::unique_ptr<EngineWorld> world;
};

TEST_F(Ring, Rule2AWorkerAmongManyReadsFewSessionRows) {
    start(40);
    std::map<std::size_t, double> rows;
    std::map<std::size_t, double> looks;
    world->fate = [&](std::size_t index, const Request& request) {
        if (const auto* get = std::get_if<GetSessions>(&request)) {
            rows[index] += static_cast<double>(get->ids.size());
            ++looks[index];
        } else if (std::holds_alternative<ListSessions>(request)) {
            rows[index] += 40;
            ++looks[index];
        }
        return Fate::pass;
    };
    world->run_for(30s);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_LE(rows[i] / 30, 3 * 3 + 40 / 4.8) << "worker " << i;
        EXPECT_LE(looks[i] / 30, 4) << "worker " << i;
        EXPECT_TRUE(world->worker(i).dropped.empty());
    }
}

TEST_F(Ring, Rule2ThirtyTwoSessionsAreWatchedByAllOfThem) {
    start(32);
    int close_looks = 0;
    world->fate = [&](std::size_t, const Request& request) {
        close_looks += std::holds_alternative<GetSessions>(request) ? 1 : 0;
        return Fate::pass;
    };
    world->run_for(10s);
    EXPECT_EQ(close_looks, 0);
}

TEST_F(Ring, Rule2ADeadSessionIsFencedInTimeByOneThatWatchesIt) {
    start(40);
    const std::size_t victim = 7;
    const auto watchers = watchers_of(victim);
    ASSERT_EQ(watchers.size(), watched_next);
    std::vector<std::size_t> by;
    world->fate = [&](std::size_t index, const Request& request) {
        if (const auto* fence = std::get_if<Fence>(&request)) {
            EXPECT_EQ(fence->session, world->worker(victim).session);
            by.push_back(index);
        }
        return Fate::pass;
    };
    const Instant killed_at = world->now();
    world->kill(victim);
    ASSERT_TRUE(world->run_until([&] { return fenced(victim); }, 10s));
    EXPECT_LE(world->now() - killed_at, 6s + 300ms);
    ASSERT_FALSE(by.empty());
    EXPECT_NE(std::ranges::find(watchers, by.front()), watchers.end());
}

TEST_F(Ring, Rule2WhenAllThatWatchADeadSessionDieWithItItIsFencedWithinTwoLeases) {
    start(40);
    const std::size_t victim = 7;
    const auto watchers = watchers_of(victim);
    const Instant killed_at = world->now();
    world->kill(victim);
    for (const std::size_t each : watchers) {
        world->kill(each);
    }
    ASSERT_TRUE(world->run_until(
        [&] { return fenced(victim) && std::ranges::all_of(watchers, [&](auto each) { return fenced(each); }); }, 15s));
    const EngineConfig config;
    EXPECT_LE(world->now() - killed_at, config.lease + config.suspect_after(config.lease) + 100ms);
}

// One real worker among session rows whose counters the test moves.
class RingOfRows : public ::testing::Test {
protected:
    std::set<SessionId> watched_by_worker() {
        std::vector<Watchable> others;
        for (const auto& [id, row] : world.store.sessions) {
            if (id != fleet.own() && !is_final(row.state)) {
                others.push_back({id, row.zone});
            }
        }
        return watched({fleet.own(), ""}, others);
    }

    RowFleet fleet{39};
    EngineWorld& world = fleet.world;
    const EngineConfig& config = fleet.config;
};

TEST_F(RingOfRows, Rule2AClockOnceBegunIsKeptWhenASessionEntersTheWatchedSet) {
    // Who is watched next, once the first of the three is gone.
    const SessionId leaving = *watched_by_worker().begin();
    const auto before = watched_by_worker();
    world.store.sessions.at(leaving).state = SessionState::left;
    SessionId entering;
    for (const auto& id : watched_by_worker()) {
        if (!before.contains(id)) {
            entering = id;
        }
    }
    world.store.sessions.at(leaving).state = SessionState::active;

    std::optional<Instant> listed_at;
    std::optional<Instant> fenced_at;
    world.fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<ListSessions>(request) && !listed_at) {
            fleet.beat();
            listed_at = world.now();
        }
        if (const auto* fence = std::get_if<Fence>(&request); fence != nullptr && fence->session == entering) {
            fenced_at = world.now();
        }
        return Fate::pass;
    };
    ASSERT_TRUE(world.run_until([&] { return listed_at.has_value(); }, 10s));
    for (int second = 1; second < 12; ++second) {
        world.run_for(1s);
        if (second == 3) {
            world.store.sessions.at(leaving).state = SessionState::left;
        }
        fleet.beat({entering});
    }
    ASSERT_TRUE(fenced_at.has_value());
    EXPECT_GE(*fenced_at - *listed_at, config.suspect_after(config.lease));
    EXPECT_LE(*fenced_at - *listed_at, config.suspect_after(config.lease) + 2 * config.look_every);
}

TEST_F(Ring, Rule2OrphansOfAFleetWithManyWorkersAreHeldAgainInTime) {
    start(40, 500ms);
    for (int i = 0; i < 200; ++i) {
        world->store.put("c" + std::to_string(i));
    }
    ASSERT_TRUE(world->run_until([&] { return world->all_held_once(); }, 10s));
    world->run_for(15s);
    const Instant killed_at = world->now();
    world->kill(3);
    ASSERT_TRUE(world->run_until([&] { return world->all_held_once(); }, 15s));
    EXPECT_LE(world->now() - killed_at, 6s + 1500ms);
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Ring, Rule2ThoseWatchedAreLookedAtAlsoWhileTheWholeListCannotBeHad) {
    start(40);
    const std::size_t victim = 7;
    int looks = 0;
    world->fate = [&](std::size_t, const Request& request) {
        looks += std::holds_alternative<GetSessions>(request) ? 1 : 0;
        return std::holds_alternative<ListSessions>(request) ? Fate::fail_at_once : Fate::pass;
    };
    world->kill(victim);
    world->run_for(20s);
    EXPECT_GT(looks, 20 * 39 * 3 / 4);
    EXPECT_FALSE(fenced(victim)) << "nobody is fenced on an old answer";
    world->fate = nullptr;
    EXPECT_TRUE(world->run_until([&] { return fenced(victim); }, 2s));
}

}  // namespace
}  // namespace longhold::core::testing
