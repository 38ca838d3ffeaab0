// SPDX-License-Identifier: Apache-2.0
// Rule 12: hints make things fast, and nothing depends on them.
#include <gtest/gtest.h>
#include <longhold/core/hint.h>

#include <string>

#include "../testing/engine_world.h"

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

std::string name(int i) {
    return "c" + std::to_string(i);
}

class HintsTest : public ::testing::Test {
protected:
    void start(std::size_t workers, int connections) {
        EngineConfig config;
        config.address = "127.0.0.1:1";
        world = std::make_unique<EngineWorld>(workers, config);
        ASSERT_TRUE(world->hold(connections));
    }

    // The longest time that a connection of worker 0 had no owner while that worker drained.
    Duration longest_gap() {
        std::map<ConnectionId, Instant> closed;
        Duration longest{};
        const auto mine = world->worker(0).open;
        world->drain(0);
        const bool done = world->run_until(
            [&] {
                for (const auto& [id, epoch] : mine) {
                    const bool held = world->acting_owners(id.text()) > 0;
                    const auto since = closed.find(id);
                    if (!held && since == closed.end()) {
                        closed.emplace(id, world->now());
                    } else if (held && since != closed.end()) {
                        longest = std::max(longest, world->now() - since->second);
                        closed.erase(since);
                    }
                }
                return world->worker(0).drained && closed.empty();
            },
            20s);
        EXPECT_TRUE(done);
        return longest;
    }

    std::unique_ptr<EngineWorld> world;
};

TEST_F(HintsTest, Rule12AReleasedConnectionIsClaimedWithoutWaitingForAPoll) {
    start(3, 60);
    EXPECT_LT(longest_gap(), 100ms) << "several hops, and no poll interval";
    EXPECT_GT(world->worker(0).told[HintKind::released], 0);
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(HintsTest, Rule12WithoutAnyHintThePollsDoTheSame) {
    start(3, 60);
    world->hints = false;
    EXPECT_LT(longest_gap(), 1500ms);
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(HintsTest, Rule12ADrainIsSeenByAllPeersAtOnce) {
    start(3, 6);
    world->drain(0);
    EXPECT_TRUE(world->run_until([&] { return world->worker(1).engine.active_peers() == 1; }, 100ms));
}

TEST_F(HintsTest, Rule12AFenceIsToldToTheOthersWhichThenLook) {
    start(4, 40);
    world->kill(0);
    ASSERT_TRUE(world->run_until([&] { return world->all_held_once(); }, 10s));
    int told = 0;
    for (std::size_t i = 1; i < 4; ++i) {
        told += world->worker(i).told[HintKind::fenced];
    }
    EXPECT_EQ(told, 2) << "one fenced, and told the two others";
}

TEST_F(HintsTest, Rule12AStopReachesTheOwnerByAHint) {
    start(2, 4);
    const std::size_t owner = world->worker(0).open.contains(ConnectionId{name(0)}) ? 0 : 1;
    world->store.want(name(0), DesiredState::stopped);
    world->send(owner, Hinted{Hint{.kind = HintKind::changed, .session = {}, .connections = {ConnectionId{name(0)}}}});
    EXPECT_TRUE(world->run_until([&] { return !world->worker(owner).open.contains(ConnectionId{name(0)}); }, 100ms));
}

TEST_F(HintsTest, Rule12AHintThatIsNotTrueChangesNothing) {
    start(2, 20);
    const auto before = world->worker(0).open;
    std::vector<ConnectionId> all;
    for (int i = 0; i < 20; ++i) {
        all.emplace_back(name(i));
    }
    all.emplace_back("nobody-knows-this");
    for (const auto kind : {HintKind::released, HintKind::changed, HintKind::fenced, HintKind::draining}) {
        world->send(0, Hinted{Hint{.kind = kind, .session = world->worker(1).session, .connections = all}});
        world->run_for(1s);
    }
    EXPECT_EQ(world->worker(0).open, before);
    EXPECT_TRUE(world->all_held_once());
    EXPECT_EQ(world->owners_max(), 1U);
}

TEST_F(HintsTest, Rule12AFloodOfHintsCostsFewReads) {
    start(2, 4);
    int reads = 0;
    world->fate = [&](std::size_t index, const Request& request) {
        reads += index == 0 && std::holds_alternative<GetConnections>(request) ? 1 : 0;
        return Fate::pass;
    };
    for (int i = 0; i < 1'000; ++i) {
        world->send(0, Hinted{Hint{.kind = HintKind::changed, .session = {}, .connections = {ConnectionId{name(0)}}}});
    }
    EXPECT_LE(reads, 8);
    world->run_for(1s);
    EXPECT_TRUE(world->all_held_once());
}

TEST(HintKindText, IsReadBack) {
    for (const auto kind : {HintKind::released, HintKind::changed, HintKind::fenced, HintKind::draining}) {
        EXPECT_EQ(hint_kind(text(kind)), kind);
    }
    EXPECT_FALSE(hint_kind("rumour"));
}

}  // namespace
}  // namespace longhold::core::testing
