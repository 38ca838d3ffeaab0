// SPDX-License-Identifier: Apache-2.0
// The engine when its store fails in parts, and when answers come after the session that they belong to.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "../testing/engine_world.h"

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

std::string name(int i) {
    return "c" + std::to_string(i);
}

bool is_write(const Request& request) {
    return std::holds_alternative<Join>(request) || std::holds_alternative<Beat>(request) ||
           std::holds_alternative<Leave>(request) || std::holds_alternative<Fence>(request) ||
           std::holds_alternative<RemoveSession>(request) || std::holds_alternative<Claims>(request) ||
           std::holds_alternative<Releases>(request);
}

class EngineFaults : public ::testing::Test {
protected:
    void start(std::size_t workers, int connections, EngineConfig config = {}) {
        world = std::make_unique<EngineWorld>(workers, std::move(config));
        ASSERT_TRUE(world->hold(connections));
    }

    bool run_until(const std::function<bool()>& until, Duration within) { return world->run_until(until, within); }

    std::size_t released_with_cursor() const {
        return static_cast<std::size_t>(std::ranges::count_if(world->store.connections, [](const auto& entry) {
            return !entry.second.owner.is_session() && entry.second.cursor && entry.second.cursor->ordinal == 7;
        }));
    }

    // The most requests of worker 0 in one of `seconds` seconds, while `failing` ones fail at once.
    int calls_in_a_second(int seconds, bool (*failing)(const Request&)) {
        int calls = 0;
        world->fate = [&calls, failing](std::size_t index, const Request& request) {
            calls += index == 0 ? 1 : 0;
            return failing(request) ? Fate::fail_at_once : Fate::pass;
        };
        int most = 0;
        for (int i = 0; i < seconds; ++i) {
            calls = 0;
            world->run_for(1s);
            most = std::max(most, calls);
        }
        world->fate = nullptr;
        return most;
    }

    std::unique_ptr<EngineWorld> world;
};

TEST_F(EngineFaults, Rule3AJoinIsNotRepeatedUnderAnIdWhoseRowMayHaveBeenRemoved) {
    start(2, 4);
    // Joins of the third one happen, and it never hears so: the others fence them, and remove their rows.
    std::map<SessionId, Instant> joined;
    std::set<SessionId> removed;
    world->fate = [&](std::size_t index, const Request& request) {
        if (const auto* join = std::get_if<Join>(&request)) {
            const Instant first = joined.try_emplace(join->row.id, world->now()).first->second;
            EXPECT_LT(world->now(), first + EngineConfig{}.lease) << join->row.id.text();
            EXPECT_FALSE(removed.contains(join->row.id)) << join->row.id.text();
        } else if (const auto* remove = std::get_if<RemoveSession>(&request)) {
            removed.insert(remove->session);
        }
        return index == 2 ? Fate::lose_answer : Fate::pass;
    };
    world->add_worker({});
    ASSERT_TRUE(run_until([&] { return !removed.empty(); }, 40s));
    EXPECT_GT(joined.size(), 0U);
    world->run_for(20s);
    world->fate = nullptr;
    EXPECT_TRUE(run_until([&] { return world->worker(2).engine.session().member(); }, 10s));
    EXPECT_TRUE(world->all_held_once());
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(EngineFaults, AFenceThatFailsAtOnceIsRetriedWithPauses) {
    start(2, 10);
    world->kill(1);
    const int most =
        calls_in_a_second(15, [](const Request& request) { return std::holds_alternative<Fence>(request); });
    EXPECT_LE(most, 50);
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 2s));
}

TEST_F(EngineFaults, AFenceOfAnAbsentSessionThatFailsAtOnceIsRetriedWithPauses) {
    EngineConfig config;
    config.sweep_every = 2s;
    start(1, 0, config);
    world->store.put("ghost");
    world->store.connections.at(ConnectionId{"ghost"}).owner = Owner::session(SessionId{"nobody-knows"});
    const int most =
        calls_in_a_second(10, [](const Request& request) { return std::holds_alternative<Fence>(request); });
    EXPECT_LE(most, 50);
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
}

TEST_F(EngineFaults, AStoreThatRefusesAllWritesIsAskedFewTimesASecond) {
    start(2, 10);
    world->kill(1);
    EXPECT_LE(calls_in_a_second(20, is_write), 100);
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
}

TEST_F(EngineFaults, ReleasesThatFailInADrainAreRetriedWithTheirCursorUntilTheyAreDone) {
    start(1, 20);
    bool failing = true;
    int calls = 0;
    world->fate = [&](std::size_t, const Request& request) {
        calls += std::holds_alternative<Releases>(request) ? 1 : 0;
        return failing && is_write(request) ? Fate::fail_at_once : Fate::pass;
    };
    world->drain(0);
    world->run_for(3s);
    EXPECT_FALSE(world->worker(0).drained) << "nothing is released yet";
    EXPECT_EQ(world->worker(0).engine.held() + world->worker(0).engine.releases_pending(), 20U);
    EXPECT_LE(calls, 20 + 6) << "retried together, and more and more seldom";
    failing = false;
    ASSERT_TRUE(run_until([&] { return world->worker(0).drained; }, 3s));
    EXPECT_EQ(released_with_cursor(), 20U);
    EXPECT_EQ(world->worker(0).news[News::released], 20);
}

TEST_F(EngineFaults, ADrainWhoseReleasesNeverSucceedIsNeverDone) {
    start(1, 20);
    world->fate = [](std::size_t, const Request& request) {
        return std::holds_alternative<Releases>(request) ? Fate::lose_request : Fate::pass;
    };
    world->drain(0);
    world->run_for(60s);
    EXPECT_FALSE(world->worker(0).drained);
    EXPECT_FALSE(world->worker(0).lost_in_drain);
    EXPECT_EQ(world->worker(0).engine.releases_pending(), 20U);
    EXPECT_EQ(world->worker(0).news[News::release_failed], 20) << "told once for each";
}

TEST_F(EngineFaults, ADrainUnderADeadStoreSaysThatTheSessionWasLost) {
    start(1, 20);
    world->outage = true;
    world->drain(0);
    ASSERT_TRUE(run_until([&] { return world->worker(0).lost_in_drain; }, 10s));
    world->run_for(30s);
    EXPECT_FALSE(world->worker(0).drained);
}

TEST_F(EngineFaults, ASessionLostWhileDrainingEndsWithoutRejoin) {
    start(2, 20);
    const SessionId before = world->worker(0).session;
    world->worker(0).flush_takes = 30s;
    world->drain(0);
    world->run_for(1s);
    world->store.sessions.at(before).state = SessionState::fenced;
    ASSERT_TRUE(run_until([&] { return world->worker(0).ended.has_value(); }, 5s));
    EXPECT_FALSE(*world->worker(0).ended);
    EXPECT_TRUE(world->worker(0).lost_in_drain);
    EXPECT_FALSE(world->worker(0).drained);
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    world->run_for(30s);
    EXPECT_EQ(world->held(1), 20U);
    EXPECT_EQ(world->worker(0).session, before);
}

TEST_F(EngineFaults, AHandOverAfterTheSessionWasLostAndHasEndedSaysSo) {
    start(1, 3);
    world->send(0, BeginDrain{});
    world->store.sessions.at(world->worker(0).session).state = SessionState::fenced;
    ASSERT_TRUE(run_until([&] { return world->worker(0).ended.has_value(); }, 5s));
    world->send(0, HandOver{});
    EXPECT_TRUE(world->worker(0).lost_in_drain);
}

TEST_F(EngineFaults, AReReadOfAFormerSessionDoesNotVoidClaimsOfTheNextOne) {
    start(2, 0);
    std::set<ConnectionId> reread;
    world->fate = [&](std::size_t index, const Request& request) {
        if (const auto* get = std::get_if<GetConnections>(&request); get != nullptr && index == 0) {
            reread.insert(get->ids.begin(), get->ids.end());
            return Fate::hold_answer;
        }
        return std::holds_alternative<Claims>(request) ? Fate::lose_request : Fate::pass;
    };
    for (int i = 0; i < 20; ++i) {
        world->store.put(name(i));
    }
    ASSERT_TRUE(run_until([&] { return world->answers_held() > 0; }, 10s));
    const SessionId before = world->worker(0).session;
    world->store.sessions.at(before).state = SessionState::fenced;
    world->kill(1);
    std::set<ConnectionId> claimed;
    world->fate = [&](std::size_t index, const Request& request) {
        if (const auto* claims = std::get_if<Claims>(&request); claims != nullptr && index == 0) {
            if (claims->items.front().session == before) {
                return Fate::lose_request;
            }
            for (const auto& claim : claims->items) {
                claimed.insert(claim.connection);
            }
            return Fate::hold_answer;
        }
        return Fate::pass;
    };
    ASSERT_TRUE(run_until([&] { return world->worker(0).dropped.size() == 1; }, 5s));
    ASSERT_TRUE(run_until([&] { return std::ranges::includes(claimed, reread); }, 10s));
    world->fate = nullptr;
    const int void_before = world->worker(0).news[News::claim_void];
    world->let_answers_go();
    EXPECT_EQ(world->worker(0).news[News::claim_void], void_before);
    EXPECT_EQ(world->held(0), claimed.size());
}

TEST_F(EngineFaults, APollOfAFormerSessionIsNotTakenForASearchOfWhatItLeft) {
    EngineConfig config;
    config.page_size = 1;
    start(1, 3, config);
    const SessionId before = world->worker(0).session;
    int asked = 0;
    world->fate = [&](std::size_t, const Request& request) {
        if (!std::holds_alternative<ListOwned>(request)) {
            return Fate::pass;
        }
        return ++asked == 1 ? Fate::hold_answer : Fate::pass;
    };
    ASSERT_TRUE(run_until([&] { return world->answers_held() == 1; }, 5s));
    world->store.sessions.at(before).state = SessionState::fenced;
    ASSERT_TRUE(run_until([&] { return world->worker(0).session != before; }, 5s));
    asked = 1;
    world->let_answers_go();
    EXPECT_EQ(asked, 1) << "the next page of it is not asked for";
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 10s)) << "the searches of the next session go on";
    EXPECT_TRUE(run_until([&] { return !world->store.sessions.contains(before); }, 30s));
}

TEST_F(EngineFaults, AProcessWhoseLoopsDieBetweenTwoSessionsEnds) {
    Engine engine{EngineConfig{.worker = WorkerId{"w"}}, 1};
    const Instant now{1h};
    static_cast<void>(engine.step(AllLoopsStuck{}, now));
    const auto commands = engine.step(Start{SessionId{"s"}}, now);
    EXPECT_TRUE(std::ranges::any_of(commands,
                                    [](const auto& command) { return std::holds_alternative<SessionEnded>(command); }));
    EXPECT_EQ(engine.session().status(), OwnSession::Status::ended);
}

TEST_F(EngineFaults, AttemptsOfFencesAreUniqueAlsoAfterARestartUnderTheSameWorkerId) {
    start(2, 10);
    std::multiset<AttemptToken> tokens;
    world->fate = [&](std::size_t, const Request& request) {
        if (const auto* fence = std::get_if<Fence>(&request)) {
            tokens.insert(fence->attempt);
        }
        return Fate::pass;
    };
    for (std::size_t round = 0; round < 2; ++round) {
        world->kill(1 + round);
        ASSERT_TRUE(run_until([&] { return tokens.size() > round; }, 10s));
        world->kill(0);  // and whoever comes next has its name
        world->add_worker(EngineConfig{.worker = WorkerId{"w0"}});
        world->run_for(20s);
    }
    EXPECT_GE(tokens.size(), 3U);
    for (const auto& token : tokens) {
        EXPECT_EQ(tokens.count(token), 1U) << token.text();
    }
}

TEST_F(EngineFaults, NothingIsClaimedBeforeItIsKnownHowFarTheDeadSessionCame) {
    start(2, 20);
    const SessionId dead = world->worker(0).session;
    const std::size_t left = world->held(0);
    ASSERT_GT(left, 0U);
    bool failing = true;
    world->fate = [&](std::size_t, const Request& request) {
        return failing && std::holds_alternative<ReadTakeover>(request) ? Fate::fail_at_once : Fate::pass;
    };
    for (const auto& [id, epoch] : world->worker(0).open) {
        world->store.pages[dead][id] =
            Cursor{.sequence_id = 1, .epoch = epoch, .ordinal = 900, .stream = 1, .value = "900"};
    }
    world->kill(0);
    ASSERT_TRUE(run_until([&] { return is_final(world->store.sessions.at(dead).state); }, 10s));
    world->run_for(10s);
    EXPECT_EQ(world->held(1), 20 - left);
    failing = false;
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 2s));
    EXPECT_EQ(std::ranges::count_if(
                  world->store.connections,
                  [](const auto& entry) { return entry.second.cursor && entry.second.cursor->ordinal == 900; }),
              static_cast<std::ptrdiff_t>(left));
}

TEST_F(EngineFaults, MoreOrphansThanAllClaimCallsCarryAreAllClaimed) {
    EngineConfig config;
    config.page_size = 100;
    start(1, 900, config);
    EXPECT_EQ(world->held(0), 900U);
    config.worker = WorkerId{"w1"};
    world->add_worker(config);
    ASSERT_TRUE(run_until([&] { return world->worker(1).engine.active_peers() == 1; }, 10s));
    world->kill(0);
    EXPECT_TRUE(run_until([&] { return world->held(1) == 900; }, 15s));
    EXPECT_EQ(world->owners_max(), 1U);
}

}  // namespace
}  // namespace longhold::core::testing
