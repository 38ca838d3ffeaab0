// SPDX-License-Identifier: Apache-2.0
// The engine in small worlds: whole scenarios under virtual time, each named after the rule of DESIGN section 4 that it
// shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "../testing/engine_world.h"

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

std::string name(int i) {
    return "c" + std::to_string(i);
}

// A world whose connections are all held.
class Held : public ::testing::Test {
protected:
    void start(std::size_t workers, int connections, EngineConfig config = {}) {
        world = std::make_unique<EngineWorld>(workers, std::move(config));
        ASSERT_TRUE(world->hold(connections));
    }

    // The worker that holds `connection`.
    std::size_t owner(const std::string& connection) {
        for (std::size_t i = 0;; ++i) {
            if (world->worker(i).alive && world->worker(i).open.contains(ConnectionId{connection})) {
                return i;
            }
        }
    }

    const ConnectionRow& row(const std::string& connection) {
        return world->store.connections.at(ConnectionId{connection});
    }

    bool run_until(const std::function<bool()>& until, Duration within) { return world->run_until(until, within); }

    std::unique_ptr<EngineWorld> world;
};

TEST_F(Held, EveryWantedConnectionHasOneOwnerWithinASecond) {
    world = std::make_unique<EngineWorld>(3);
    world->run_for(5s);
    for (int i = 0; i < 60; ++i) {
        world->store.put(name(i));
    }
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 1s));
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_GT(world->held(i), 8U) << "worker " << i << " has its share";
    }
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule1HeartbeatsExtendTheRightFromTheSend) {
    start(1, 1);
    world->run_for(60s);
    const auto& worker = world->worker(0);
    EXPECT_TRUE(worker.dropped.empty());
    const auto config = worker.engine.config();
    EXPECT_GT(worker.right_until - world->now(), config.right_duration() - config.heartbeat_every - 10ms);
    EXPECT_LE(worker.right_until - world->now(), config.right_duration());
}

TEST_F(Held, Rule1ALateAttemptIsCreditedWithItsOwnSendTime) {
    start(1, 1);
    // The first attempt's answer is lost and its write lands late, after a second attempt was sent: the second is
    // refused, and shows the first one's token. The right must then count from the first send, not from the second.
    Instant first_send{};
    int beats = 0;
    world->fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<Beat>(request)) {
            if (++beats == 1) {
                first_send = world->now();
                return Fate::delay_write;
            }
            if (beats == 2) {
                return Fate::lose_request;
            }
        }
        return Fate::pass;
    };
    ASSERT_TRUE(run_until([&] { return world->worker(0).news[News::unknown_outcome] >= 2; }, 10s));
    ASSERT_TRUE(run_until([&] { return world->worker(0).right_until >= first_send + 5s; }, 2s));
    EXPECT_EQ(world->worker(0).right_until, first_send + world->worker(0).engine.config().right_duration());
    EXPECT_TRUE(world->worker(0).dropped.empty());
}

TEST_F(Held, Rule2ADeadWorkerIsFencedAfterItsLeaseAndItsConnectionsMove) {
    start(3, 60);
    const Instant killed_at = world->now();
    world->kill(0);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    EXPECT_LE(world->now() - killed_at, 6s + 300ms + 200ms);
    EXPECT_EQ(world->owners_max(), 1U);
    EXPECT_EQ(world->store.sessions.at(world->worker(0).session).state, SessionState::fenced);
}

TEST_F(Held, Rule2APausedWorkerStopsByItsOwnClockAndRejoinsAnew) {
    start(3, 60);
    const SessionId before = world->worker(0).session;
    const std::size_t held_before = world->held(0);
    ASSERT_GT(held_before, 0U);
    world->pause(0);
    ASSERT_TRUE(run_until([&] { return world->held(1) + world->held(2) == 60; }, 10s));
    world->resume(0);
    EXPECT_EQ(world->held(0), 0U) << "the deadline is checked before anything else";
    EXPECT_EQ(world->worker(0).dropped, std::vector{before});
    ASSERT_TRUE(run_until([&] { return world->worker(0).session != before; }, 5s));
    EXPECT_EQ(world->owners_max(), 1U);
    EXPECT_TRUE(world->all_held_once());
}

TEST_F(Held, Rule2AnObserverThatWasPausedDoesNotFenceTheLiving) {
    start(2, 10);
    world->pause(0);
    world->run_for(20s);
    world->resume(0);
    world->run_for(10s);
    EXPECT_EQ(world->worker(1).dropped.size(), 0U);
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule3AnOwnerWithoutASessionRowIsFencedByCreatingIt) {
    EngineConfig config;
    config.sweep_every = 2s;
    start(2, 0, config);
    world->store.put("ghost");
    auto& ghost = world->store.connections.at(ConnectionId{"ghost"});
    ghost.owner = Owner::session(SessionId{"nobody-knows"});
    ghost.epoch = Epoch{41};
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    EXPECT_EQ(row("ghost").epoch, Epoch{42});
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule3AJoinThatLandsAfterItsIdWasFencedIsRefused) {
    EngineConfig config;
    config.sweep_every = 2s;
    start(2, 0, config);
    world->store.put("ghost");
    world->store.connections.at(ConnectionId{"ghost"}).owner = Owner::session(SessionId{"late"});
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    const Join late{SessionRow{.id = SessionId{"late"}}};
    const auto answer = world->store.apply(late, config);
    EXPECT_EQ(std::get<Outcome<SessionRow>>(answer).verdict, Verdict::refused);
}

TEST_F(Held, Rule3AClaimWithoutTheRightRowIsRefusedAndNothingIsCreated) {
    start(2, 4);
    world->store.want(name(1), DesiredState::stopped);
    ASSERT_TRUE(run_until([&] { return !row(name(1)).owner.is_session(); }, 5s));
    EXPECT_EQ(row(name(1)).owner.text().substr(0, 4), "off#");
    EXPECT_EQ(world->store.connections.size(), 4U);
}

TEST_F(Held, Rule3FinalSessionsAreRemovedOnlyAfterTwoEmptySweepsALeaseApart) {
    start(2, 20);
    const SessionId dead = world->worker(0).session;
    world->kill(0);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    const Instant moved_at = world->now();
    EXPECT_TRUE(world->store.sessions.contains(dead));
    ASSERT_TRUE(run_until([&] { return !world->store.sessions.contains(dead); }, 20s));
    EXPECT_GE(world->now() - moved_at, 6s);
}

TEST_F(Held, Rule3ResumesFromTheDeadSessionsCursorPageAndKeepsItInTheClaim) {
    start(2, 4);
    const std::size_t dead = owner(name(0));
    const Epoch epoch = row(name(0)).epoch;
    world->store.pages[world->worker(dead).session][ConnectionId{name(0)}] =
        Cursor{.sequence_id = 1, .epoch = epoch, .ordinal = 900, .stream = 1, .value = "900"};
    world->kill(dead);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    const auto resumed = world->worker(1 - dead).resumed_from.at(ConnectionId{name(0)});
    ASSERT_TRUE(resumed.has_value());
    EXPECT_EQ(resumed->value, "900");
    EXPECT_EQ(row(name(0)).cursor, resumed) << "a second crash before the first checkpoint must not lose it";
}

TEST_F(Held, Rule3APageOfAnotherEpochDoesNotCount) {
    start(2, 4);
    const std::size_t dead = owner(name(0));
    world->store.pages[world->worker(dead).session][ConnectionId{name(0)}] =
        Cursor{.sequence_id = 1, .epoch = Epoch{0}, .ordinal = 900, .stream = 1, .value = "900"};
    world->kill(dead);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    EXPECT_EQ(row(name(0)).cursor, std::nullopt);
}

TEST_F(Held, Rule3RowsNobodyWantsAreFreedOfADeadOwner) {
    start(2, 4);
    const std::size_t dead = owner(name(0));
    world->kill(dead);
    world->store.want(name(0), DesiredState::stopped);
    ASSERT_TRUE(run_until([&] { return !row(name(0)).owner.is_session(); }, 10s));
    EXPECT_EQ(row(name(0)).owner.text().substr(0, 4), "off#");
}

TEST_F(Held, Rule4StopReachesTheOwnerThroughItsOwnedRows) {
    start(2, 4);
    world->store.want(name(2), DesiredState::stopped);
    const Instant asked_at = world->now();
    ASSERT_TRUE(run_until([&] { return world->acting_owners(name(2)) == 0; }, 5s));
    EXPECT_LE(world->now() - asked_at, 3s);
}

TEST_F(Held, Rule4ASpecChangeReachesTheOwnerInTheSameEpoch) {
    start(1, 1);
    auto& changed = world->store.connections.at(ConnectionId{name(0)});
    const Epoch before = changed.epoch;
    changed.spec = "{\"new\":true}";
    ++changed.spec_revision;
    ASSERT_TRUE(run_until([&] { return !world->worker(0).updated.empty(); }, 5s));
    EXPECT_EQ(row(name(0)).epoch, before);
}

TEST_F(Held, Rule4ARowThatNamesMeAndThatIDoNotHoldIsClaimedAnew) {
    start(1, 0);
    world->store.put("mine");
    auto& mine = world->store.connections.at(ConnectionId{"mine"});
    mine.owner = Owner::session(world->worker(0).session);
    mine.epoch = Epoch{5};
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    EXPECT_EQ(row("mine").epoch, Epoch{6});
}

TEST_F(Held, Rule5AClaimWhoseAnswerWasLostIsFoundByItsToken) {
    start(1, 0);
    bool lost = false;
    world->fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<Claims>(request) && !std::exchange(lost, true)) {
            return Fate::lose_answer;
        }
        return Fate::pass;
    };
    world->store.put("a");
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    EXPECT_EQ(row("a").epoch, Epoch{1}) << "one's own write is not taken for a conflict";
    EXPECT_EQ(world->worker(0).news[News::own_write_found], 1);
}

TEST_F(Held, Rule5AClaimThatLandsAfterItsReadBackIsNotActedOnButClaimedAnew) {
    start(1, 0);
    bool delayed = false;
    world->fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<Claims>(request) && !std::exchange(delayed, true)) {
            return Fate::delay_write;
        }
        return Fate::pass;
    };
    world->store.put("a");
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    world->run_for(5s);
    EXPECT_TRUE(world->all_held_once());
    EXPECT_EQ(world->worker(0).open.at(ConnectionId{"a"}), row("a").epoch) << "it acts under the row's epoch only";
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule5AHeartbeatWhoseAnswerWasLostIsFoundByItsToken) {
    start(1, 1);
    int lost = 0;
    world->fate = [&](std::size_t, const Request& request) {
        return std::holds_alternative<Beat>(request) && ++lost % 2 == 1 ? Fate::lose_answer : Fate::pass;
    };
    world->run_for(60s);
    EXPECT_TRUE(world->worker(0).dropped.empty());
    EXPECT_TRUE(world->all_held_once());
}

TEST_F(Held, Rule5AGivenAwayEpochIsNeverActedOnAgain) {
    start(1, 1);
    const Epoch given = row(name(0)).epoch;
    bool lost = false;
    world->fate = [&](std::size_t, const Request& request) {
        if (std::holds_alternative<Releases>(request) && !std::exchange(lost, true)) {
            return Fate::lose_request;  // the row still names us: we must give it away again, not keep it
        }
        return Fate::pass;
    };
    world->store.want(name(0), DesiredState::stopped);
    ASSERT_TRUE(run_until([&] { return lost; }, 5s));
    world->store.want(name(0), DesiredState::started);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
    EXPECT_GT(row(name(0)).epoch, given);
    EXPECT_GT(world->worker(0).open.at(ConnectionId{name(0)}), given);
}

TEST_F(Held, Rule6ADrainReleasesEachConnectionWithItsCursorAndLeaves) {
    start(3, 60);
    const auto mine = world->worker(0).open;
    world->drain(0);
    ASSERT_TRUE(run_until([&] { return world->worker(0).drained; }, 5s));
    world->send(0, EndSession{});
    ASSERT_TRUE(run_until([&] { return world->worker(0).ended.has_value(); }, 5s));
    EXPECT_TRUE(*world->worker(0).ended);
    EXPECT_EQ(world->store.sessions.at(world->worker(0).session).state, SessionState::left);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 2s));
    for (const auto& [id, epoch] : mine) {
        EXPECT_EQ(row(id.text()).epoch, epoch.next()) << "each moved once";
        EXPECT_EQ(row(id.text()).cursor->ordinal, 7U);
    }
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule6ADrainingWorkerTakesNothingNew) {
    start(2, 10);
    world->drain(0);
    ASSERT_TRUE(run_until([&] { return world->worker(0).drained; }, 5s));
    world->store.put("new");
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    EXPECT_EQ(owner("new"), 1U);
}

TEST_F(Held, Rule6ADrainEndsInTimeAlsoWhenNoUpstreamAnswersTheClose) {
    for (const Duration takes : {2s, 10s, 60s}) {
        start(1, 700);
        world->worker(0).close_takes = takes;
        world->drain(0);
        EXPECT_TRUE(run_until([&] { return world->worker(0).drained; }, HandOver{}.budget)) << takes.count();
        EXPECT_FALSE(world->worker(0).lost_in_drain);
    }
}

TEST_F(Held, Rule6ADrainHurriesACloseThatIsUnderWay) {
    start(1, 1);
    world->worker(0).close_takes = 60s;
    world->store.want(name(0), DesiredState::stopped);
    world->run_for(5s);
    world->worker(0).close_takes = 100ms;  // what the order of the drain leaves it
    world->drain(0);
    EXPECT_TRUE(run_until([&] { return world->worker(0).drained; }, 5s));
}

TEST_F(Held, Rule6AnEpochThatIsClaimedAnewIsReleasedOnce) {
    start(1, 1);
    int releases = 0;
    world->fate = [&](std::size_t, const Request& request) {
        const bool release = std::holds_alternative<Releases>(request);
        return release && ++releases == 1 ? Fate::fail_at_once : Fate::pass;
    };
    // The first release fails and waits for its retry, when the connection is wanted again.
    world->store.want(name(0), DesiredState::stopped);
    ASSERT_TRUE(run_until([&] { return releases == 1; }, 5s));
    world->store.want(name(0), DesiredState::started);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    world->run_for(5s);
    ASSERT_TRUE(world->all_held_once());
    releases = 1;
    world->store.want(name(0), DesiredState::stopped);
    ASSERT_TRUE(run_until([&] { return !row(name(0)).owner.is_session(); }, 5s));
    world->run_for(5s);
    EXPECT_EQ(releases, 2);
}

TEST_F(Held, Rule6HeartbeatsGoOnWhileADrainIsSlow) {
    start(2, 4);
    world->worker(0).flush_takes = 30s;
    world->drain(0);
    world->run_for(25s);
    EXPECT_TRUE(world->worker(0).dropped.empty());
    EXPECT_EQ(world->store.sessions.at(world->worker(0).session).state, SessionState::draining);
}

TEST_F(Held, Rule8AnOutagePastTheLeaseDropsEverythingAndComesBackByItself) {
    start(3, 30);
    world->outage = true;
    world->run_for(12s);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(world->held(i), 0U);
        EXPECT_EQ(world->worker(i).dropped.size(), 1U);
    }
    world->outage = false;
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(Held, Rule8AnOutageShorterThanTheLeaseKeepsEverySocket) {
    start(3, 30);
    world->outage = true;
    world->run_for(2500ms);
    world->outage = false;
    world->run_for(20s);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(world->worker(i).dropped.empty());
    }
    EXPECT_TRUE(world->all_held_once());
}

TEST_F(Held, Rule9AStuckLoopsConnectionsAreReleasedAndTheSessionLivesOn) {
    start(2, 10);
    LoopStuck stuck;
    for (const auto& [id, epoch] : world->worker(0).open) {
        stuck.connections.push_back(Closed{id, epoch, std::nullopt});
    }
    ASSERT_FALSE(stuck.connections.empty());
    world->worker(0).open.clear();
    world->send(0, stuck);
    ASSERT_TRUE(run_until([&] { return world->all_held_once(); }, 5s));
    EXPECT_TRUE(world->worker(0).dropped.empty());
}

TEST_F(Held, Rule9AProcessWhoseLoopsAreDeadKeepsNoSession) {
    start(2, 10);
    world->send(0, AllLoopsStuck{});
    EXPECT_EQ(world->held(0), 0U);
    ASSERT_TRUE(run_until([&] { return world->worker(0).ended.has_value() && world->all_held_once(); }, 5s));
    EXPECT_FALSE(*world->worker(0).ended);
    EXPECT_EQ(world->held(1), 10U);
}

TEST_F(Held, Rule10CapacityIsNeverPassedAndTheBacklogWaits) {
    EngineConfig config;
    config.capacity = 4;
    world = std::make_unique<EngineWorld>(2, config);
    world->run_for(5s);
    for (int i = 0; i < 10; ++i) {
        world->store.put(name(i));
    }
    world->run_for(20s);
    EXPECT_EQ(world->held(0), 4U);
    EXPECT_EQ(world->held(1), 4U);
    config.worker = WorkerId{"w2"};
    world->add_worker(config);
    EXPECT_TRUE(run_until([&] { return world->all_held_once(); }, 10s));
}

TEST_F(Held, AnOperatorsDrainRequestIsHeardThroughTheHeartbeat) {
    start(1, 1);
    world->store.sessions.at(world->worker(0).session).drain_requested = true;
    EXPECT_TRUE(run_until([&] { return world->worker(0).drain_asked; }, 5s));
}

TEST_F(Held, IdleWritesGrowWithWorkersNotWithConnections) {
    start(3, 300);
    world->run_for(20s);
    const std::uint64_t before = world->store.writes;
    world->run_for(60s);
    const double per_second = static_cast<double>(world->store.writes - before) / 60;
    EXPECT_LE(per_second, 1.2 * 3 / 2);
}

TEST_F(Held, AnEpochNeverGoesBackThroughAnyOfIt) {
    start(3, 30);
    std::map<ConnectionId, Epoch> highest;
    const auto check = [&] {
        for (const auto& [id, each] : world->store.connections) {
            EXPECT_GE(each.epoch, highest[id]);
            highest[id] = each.epoch;
        }
        return false;
    };
    world->kill(0);
    run_until(check, 8s);
    world->pause(1);
    run_until(check, 8s);
    world->resume(1);
    run_until(check, 8s);
    EXPECT_TRUE(world->all_held_once());
    EXPECT_EQ(world->owners_max(), 1U);
}

}  // namespace
}  // namespace longhold::core::testing
