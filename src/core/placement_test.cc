// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/core/placement.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace longhold::core {
namespace {

ConnectionId connection(int number) {
    return ConnectionId{"conn-" + std::to_string(number)};
}

Candidate candidate(int number, std::uint32_t capacity = 100'000, std::uint32_t load = 0) {
    const auto text = std::to_string(number);
    return {.id = SessionId{"s-" + text},
            .worker_id = WorkerId{"worker-" + text},
            .capacity = capacity,
            .load = load,
            .generation = 1,
            .version = "1.0.0"};
}

std::vector<Candidate> fleet(int size, std::uint32_t capacity = 100'000) {
    std::vector<Candidate> candidates;
    for (int i = 0; i < size; ++i) {
        candidates.push_back(candidate(i, capacity));
    }
    return candidates;
}

// The owner of each connection, without bounds at work.
std::vector<WorkerId> owners(const std::vector<Candidate>& candidates, int connections) {
    const Placement placement{candidates, static_cast<std::uint64_t>(connections)};
    std::vector<WorkerId> owners;
    for (int i = 0; i < connections; ++i) {
        owners.push_back(candidates.at(placement.best(connection(i)).value()).worker_id);
    }
    return owners;
}

std::size_t count_of(const std::vector<WorkerId>& owners, const WorkerId& worker) {
    return static_cast<std::size_t>(std::ranges::count(owners, worker));
}

TEST(Placement, RanksEachSessionOnceAndAlikeWhateverTheOrderOfRows) {
    auto candidates = fleet(7);
    candidates[2].version = "1.1.0";
    candidates[3].capacity = 50'000;
    candidates[4].load = candidates[4].capacity;
    candidates[5].load = 900;
    auto shuffled = candidates;
    std::ranges::reverse(shuffled);
    std::swap(shuffled[1], shuffled[4]);
    const Placement here{candidates, 100};
    const Placement there{shuffled, 100};
    for (int i = 0; i < 200; ++i) {
        std::set<std::uint32_t> ranks;
        for (const auto& one : candidates) {
            const auto rank = here.rank(connection(i), one.id);
            EXPECT_EQ(rank, there.rank(connection(i), one.id));
            EXPECT_EQ(rank.has_value(), one.load < one.capacity);
            if (rank) {
                ranks.insert(*rank);
                EXPECT_EQ(*rank == 0, candidates.at(here.best(connection(i)).value()).id == one.id);
            }
        }
        EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 1, 2, 3, 4, 5}));
    }
}

TEST(Placement, SpreadsEvenly) {
    const auto owned = owners(fleet(10), 10'000);
    for (const auto& one : fleet(10)) {
        EXPECT_NEAR(static_cast<double>(count_of(owned, one.worker_id)), 1000, 150);
    }
}

TEST(Placement, RespectsWeights) {
    auto candidates = fleet(5);
    candidates[0].capacity = 300'000;
    candidates[1].capacity = 50'000;
    const auto owned = owners(candidates, 13'000);  // of 6.5 shares
    EXPECT_NEAR(static_cast<double>(count_of(owned, candidates[0].worker_id)), 6000, 300);
    EXPECT_NEAR(static_cast<double>(count_of(owned, candidates[1].worker_id)), 1000, 150);
    EXPECT_NEAR(static_cast<double>(count_of(owned, candidates[2].worker_id)), 2000, 200);
}

TEST(Placement, MovesOnlyTheShareOfAWorkerThatLeavesOrJoins) {
    const auto with = fleet(10);
    auto without = with;
    without.erase(without.begin() + 4);
    const auto before = owners(with, 10'000);
    const auto after = owners(without, 10'000);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != with[4].worker_id) {
            EXPECT_EQ(after[i], before[i]);
        }
    }
}

TEST(Placement, IsKeptByAWorkerThatJoinsAnew) {
    auto candidates = fleet(10);
    const auto before = owners(candidates, 1000);
    candidates[3].id = SessionId{"another"};
    EXPECT_EQ(owners(candidates, 1000), before);
}

TEST(Placement, DiffersBetweenLikeNames) {
    const auto owned = owners(fleet(2), 1000);
    std::size_t changes = 0;
    for (std::size_t i = 1; i < owned.size(); ++i) {
        changes += owned[i] != owned[i - 1] ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(changes), 500, 80);
}

TEST(Placement, NeverExceedsACapacityAndUsesAllOfIt) {
    Random random{5};
    for (int round = 0; round < 50; ++round) {
        std::vector<Candidate> candidates;
        std::uint32_t room = 0;
        for (int i = 0; i < 8; ++i) {
            const auto capacity = static_cast<std::uint32_t>(random.below(30));
            candidates.push_back(candidate(i, capacity, static_cast<std::uint32_t>(random.below(capacity + 1))));
            room += capacity - candidates.back().load;
        }
        Placement placement{candidates, room};
        auto loads = candidates;
        for (std::uint32_t i = 0; i < room; ++i) {
            const auto best = placement.best(connection(static_cast<int>(i)));
            ASSERT_TRUE(best);
            placement.claimed(*best);
            ASSERT_LE(++loads[*best].load, loads[*best].capacity);
        }
        EXPECT_EQ(placement.best(connection(-1)), std::nullopt);
        for (const auto& one : candidates) {
            EXPECT_EQ(placement.rank(connection(-1), one.id), std::nullopt);
        }
    }
}

TEST(Placement, KeepsEachLoadWithinItsBound) {
    const auto candidates = fleet(50);
    Placement placement{candidates, 500};  // 10 each: chance alone would go far beyond
    std::vector<std::uint32_t> loads(50);
    for (int i = 0; i < 500; ++i) {
        const auto best = placement.best(connection(i)).value();
        placement.claimed(best);
        EXPECT_LE(++loads[best], 13U);
    }
}

TEST(Placement, PutsSessionsAboveTheirBoundAfterThoseBelow) {
    auto candidates = fleet(3, 1000);
    candidates[1].load = 500;
    const Placement placement{candidates, 10};
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(placement.rank(connection(i), candidates[1].id), 2U);
    }
}

TEST(Placement, PrefersTheNewestVersionThenTheNewestGeneration) {
    auto candidates = fleet(4);
    candidates[0].version = "1.9.0";
    candidates[0].generation = 9;
    candidates[1].version = "1.10.0";
    candidates[1].generation = 2;
    candidates[2].version = "1.10.0";
    candidates[2].generation = 3;
    candidates[3].version = "1.9.0";
    candidates[3].generation = 9;
    const Placement placement{candidates, 10};
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(placement.rank(connection(i), candidates[2].id), 0U);
        EXPECT_EQ(placement.rank(connection(i), candidates[1].id), 1U);
        EXPECT_GE(placement.rank(connection(i), candidates[0].id), 2U);
    }
}

TEST(Placement, GoesToOlderSessionsBeforeANewOneIsOverloaded) {
    auto candidates = fleet(10, 1000);
    candidates[0].generation = 2;
    Placement placement{candidates, 1000};
    std::uint32_t newest = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto best = placement.best(connection(i)).value();
        placement.claimed(best);
        newest += best == 0 ? 1 : 0;
    }
    EXPECT_EQ(newest, 125U);
}

TEST(Placement, KnowsNoStranger) {
    const auto candidates = fleet(2);
    EXPECT_EQ((Placement{candidates, 1}.rank(connection(1), SessionId{"stranger"})), std::nullopt);
    EXPECT_EQ((Placement{{}, 1}.best(connection(1))), std::nullopt);
}

// Pins the function: a change would move the connections of every fleet during an update.
TEST(Placement, NeverChangesItsAnswer) {
    const auto owned = owners(fleet(10), 8);
    std::string text;
    for (const auto& owner : owned) {
        text += owner.text() + " ";
    }
    EXPECT_EQ(text, "worker-4 worker-9 worker-9 worker-8 worker-0 worker-5 worker-6 worker-0 ");
}

TEST(BucketPollers, AreTwoThatEachWorkerAgreesOn) {
    auto candidates = fleet(6);
    auto reversed = candidates;
    std::ranges::reverse(reversed);
    std::vector<int> polled(6);
    for (std::uint32_t bucket = 0; bucket < 600; ++bucket) {
        const auto pollers = bucket_pollers(bucket, candidates);
        ASSERT_EQ(pollers.count, 2U);
        EXPECT_NE(pollers.sessions[0], pollers.sessions[1]);
        EXPECT_EQ(bucket_pollers(bucket, reversed).sessions, pollers.sessions);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            polled[i] += pollers.has(candidates[i].id) ? 1 : 0;
        }
    }
    for (const auto count : polled) {
        EXPECT_NEAR(count, 200, 50);
    }
}

TEST(BucketPollers, HaveRoomWhereAnybodyHas) {
    auto candidates = fleet(4, 10);
    for (auto& one : candidates) {
        one.load = 10;
    }
    candidates[2].load = 9;
    for (std::uint32_t bucket = 0; bucket < 50; ++bucket) {
        const auto pollers = bucket_pollers(bucket, candidates);
        EXPECT_EQ(pollers.sessions[0], candidates[2].id);
        EXPECT_EQ(pollers.count, 2U);
    }
}

TEST(BucketPollers, AreAsManyAsThereAre) {
    EXPECT_EQ(bucket_pollers(1, {}).count, 0U);
    const auto one = fleet(1);
    EXPECT_EQ(bucket_pollers(1, one).count, 1U);
    EXPECT_TRUE(bucket_pollers(1, one).has(one[0].id));
    EXPECT_FALSE(bucket_pollers(1, one).has(SessionId{}));
}

TEST(Versions, CompareAsDottedNumbers) {
    const std::vector<std::vector<std::string_view>> rising{{"", "0", "0.0"},
                                                            {"0.9"},
                                                            {"1.0.0-alpha"},
                                                            {"1.0.0-alpha.1"},
                                                            {"1.0.0-beta"},
                                                            {"1.0.0-rc.2"},
                                                            {"1.0.0-rc.10"},
                                                            {"1", "1.0", "v1.0.0", "1.0.0+build5"},
                                                            {"1.0.1"},
                                                            {"1.9"},
                                                            {"1.10", "1.010.0"},
                                                            {"1.10.x"},
                                                            {"2.0.0-rc1"},
                                                            {"2"},
                                                            {"20261130.99999999999999999999"}};
    for (std::size_t a = 0; a < rising.size(); ++a) {
        for (std::size_t b = 0; b < rising.size(); ++b) {
            for (const auto left : rising[a]) {
                for (const auto right : rising[b]) {
                    EXPECT_EQ(compare_versions(left, right), a <=> b) << left << " " << right;
                }
            }
        }
    }
}

}  // namespace
}  // namespace longhold::core
