// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/fleet/proof.h>

namespace longhold::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t ms = 1000;

// One connection "a", held by session s1 in epoch 1 and s2 in epoch 2; the upstream sent numbers from 5 on.
class ProofTest : public testing::Test {
protected:
    ProofTest() {
        auto& a = oracle_["a"];
        a.heads = {20};
        a.sockets.push_back(OracleSocket{.opened_at_us = 0, .closed_at_us = 100 * ms, .firsts = {{1, 5}}});
        a.sockets.push_back(OracleSocket{.opened_at_us = 100 * ms, .closed_at_us = 300 * ms, .firsts = {{1, 9}}});
        events_.stop.heads["a"] = StreamHead{1, 12};
    }

    void open(std::uint64_t epoch, std::string_view session, std::int64_t at_us, RecordPlace resume = {}) {
        proof_.add(ProofRecord{.connection = "a",
                               .session = session,
                               .place = {epoch, 1},
                               .stream = 1,
                               .is_data = false,
                               .seq = {},
                               .received_at_us = at_us,
                               .resume = resume});
    }

    void data(RecordPlace place, std::uint32_t stream, std::uint64_t seq, std::int64_t at_us) {
        proof_.add(ProofRecord{.connection = "a",
                               .session = place.epoch == 1 ? "s1" : "s2",
                               .place = place,
                               .stream = stream,
                               .is_data = true,
                               .seq = seq,
                               .received_at_us = at_us,
                               .resume = {}});
    }

    // Epoch 1 delivers 5 to 8 from 10 ms on, epoch 2 goes on with 9 to 12 at 150 ms.
    void whole_run() {
        open(1, "s1", 1 * ms);
        for (std::uint64_t i = 0; i < 4; ++i) {
            data({1, 2 + i}, 1, 5 + i, static_cast<std::int64_t>(10 + i) * ms);
        }
        open(2, "s2", 140 * ms, {1, 5});
        for (std::uint64_t i = 0; i < 4; ++i) {
            data({2, 2 + i}, 1, 9 + i, static_cast<std::int64_t>(150 + i) * ms);
        }
    }

    ProofResult judge() { return proof_.judge(oracle_, events_); }

    Proof proof_;
    Oracle oracle_;
    RunEvents events_;
};

TEST_F(ProofTest, HoldsForAWholeRun) {
    whole_run();
    const auto result = judge();
    EXPECT_TRUE(result.holds()) << testing::PrintToString(result.failures);
    EXPECT_EQ(result.connections, 1U);
    EXPECT_EQ(result.delivered, 8U);
    EXPECT_EQ(result.lost + result.redelivered + result.late + result.overlaps + result.unknown, 0U);
}

TEST_F(ProofTest, AHoleIsLost) {
    whole_run();
    events_.stop.heads["a"].seq = 14;
    data({2, 6}, 1, 14, 160 * ms);
    EXPECT_EQ(judge().lost, 1U);
}

TEST_F(ProofTest, AMissingTailIsLost) {
    whole_run();
    events_.stop.heads["a"].seq = 15;
    const auto result = judge();
    EXPECT_EQ(result.lost, 3U);
    EXPECT_THAT(result.failures, ElementsAre("3 messages were lost"));
}

TEST_F(ProofTest, WhatTheFirstSocketWasSentAndLostIsLost) {
    whole_run();
    oracle_["a"].sockets[0].firsts = {{1, 3}};
    EXPECT_EQ(judge().lost, 2U);
}

TEST_F(ProofTest, NothingDeliveredIsAllLost) {
    const auto result = judge();
    EXPECT_EQ(result.lost, 8U);
    EXPECT_THAT(result.failures, testing::Contains("1 connection delivered nothing"));
}

TEST_F(ProofTest, ARecordBeyondTheNextEpochsResumePointIsLateAndCountsForNothing) {
    open(1, "s1", 1 * ms);
    data({1, 2}, 1, 5, 10 * ms);
    data({1, 3}, 1, 6, 11 * ms);
    data({1, 4}, 1, 7, 90 * ms);
    open(2, "s2", 100 * ms, {1, 3});
    for (std::uint64_t i = 0; i < 6; ++i) {
        data({2, 2 + i}, 1, 7 + i, 110 * ms);
    }
    const auto result = judge();
    EXPECT_EQ(result.late, 1U);
    EXPECT_EQ(result.delivered, 8U);
    EXPECT_EQ(result.redelivered, 0U);
    EXPECT_TRUE(result.holds()) << testing::PrintToString(result.failures);
}

TEST_F(ProofTest, AnEpochThatSkipsOneMakesAllBetweenLate) {
    whole_run();
    open(4, "s4", 200 * ms, {1, 5});
    const auto result = judge();
    EXPECT_EQ(result.late, 4U);
    EXPECT_EQ(result.lost, 4U);
}

TEST_F(ProofTest, AResumePointOfNowhereMakesAllBeforeLate) {
    whole_run();
    open(3, "s3", 200 * ms);
    EXPECT_EQ(judge().late, 8U);
}

TEST_F(ProofTest, TheSameMessageTwiceIsRedelivered) {
    whole_run();
    data({2, 6}, 1, 12, 160 * ms);
    data({2, 7}, 1, 12, 161 * ms);
    const auto result = judge();
    EXPECT_EQ(result.redelivered, 2U);
    EXPECT_EQ(result.delivered, 10U);
    EXPECT_TRUE(result.holds());
}

TEST_F(ProofTest, SocketsThatOverlapAreCounted) {
    whole_run();
    oracle_["a"].sockets[0].closed_at_us = 100 * ms + 1;
    EXPECT_EQ(judge().overlaps, 1U);
    oracle_["a"].sockets[0].closed_at_us.reset();
    oracle_["a"].sockets.push_back(OracleSocket{.opened_at_us = 50 * ms, .closed_at_us = 60 * ms, .firsts = {}});
    EXPECT_EQ(judge().overlaps, 2U);
}

TEST_F(ProofTest, AnAcceptedRecordReceivedAfterTheNextEpochBeganIsAnOverlap) {
    whole_run();
    data({1, 4}, 1, 7, 141 * ms);
    EXPECT_EQ(judge().overlaps, 1U);
}

TEST_F(ProofTest, OneEpochWrittenByTwoSessionsIsAnOverlap) {
    whole_run();
    open(2, "s3", 140 * ms, {1, 5});
    EXPECT_EQ(judge().overlaps, 1U);
}

TEST_F(ProofTest, ARestartOfTheNumberingIsAStreamOfItsOwn) {
    whole_run();
    oracle_["a"].heads = {12, 3};
    events_.stop.heads["a"] = StreamHead{2, 2};
    data({2, 7}, 2, 1, 170 * ms);
    data({2, 8}, 2, 2, 171 * ms);
    EXPECT_TRUE(judge().holds()) << testing::PrintToString(judge().failures);
    oracle_["a"].heads = {13, 3};
    EXPECT_EQ(judge().lost, 1U) << "the old stream is expected to its end";
}

TEST_F(ProofTest, AStreamThatNobodyDeliveredIsLostWhole) {
    whole_run();
    oracle_["a"].heads = {12, 7};
    events_.stop.heads["a"] = StreamHead{2, 7};
    EXPECT_EQ(judge().lost, 7U);
}

TEST_F(ProofTest, WhatTheUpstreamNeverSentIsUnknownAndStandsForNothing) {
    whole_run();
    data({2, 6}, 1, 21, 160 * ms);
    data({2, 7}, 1, 4, 160 * ms);
    data({2, 8}, 2, 1, 160 * ms);
    proof_.add(ProofRecord{
        .connection = "b", .session = "s", .place = {1, 1}, .stream = 1, .is_data = true, .seq = 1, .resume = {}});
    const auto result = judge();
    EXPECT_EQ(result.unknown, 4U);
    EXPECT_EQ(result.lost, 0U);
    EXPECT_FALSE(result.holds());
}

TEST_F(ProofTest, RecoveryIsFromTheKillToTheFirstMessageOfTheNextEpoch) {
    whole_run();
    events_.harms.push_back(
        Harm{.at_us = 20 * ms, .kind = HarmKind::kill, .worker = "w", .session = "s1", .connections = {"a"}});
    const auto result = judge();
    EXPECT_EQ(result.crash_recovery, (Spread{.count = 1, .p50_us = 130 * ms, .p99_us = 130 * ms, .max_us = 130 * ms}));
    EXPECT_EQ(result.handover_gap.count, 0U);
}

TEST_F(ProofTest, AGapIsFromTheLastMessageToTheFirstOfTheNextEpoch) {
    whole_run();
    events_.harms.push_back(
        Harm{.at_us = 11 * ms, .kind = HarmKind::drain, .worker = "w", .session = "s1", .connections = {"a"}});
    EXPECT_EQ(judge().handover_gap.max_us, (150 - 13) * ms);
}

TEST_F(ProofTest, AnEpochThatBeganAtTheVeryMomentOfTheHarmIsTheOldOne) {
    whole_run();
    events_.harms.push_back(
        Harm{.at_us = 140 * ms, .kind = HarmKind::kill, .worker = "w", .session = "s2", .connections = {"a"}});
    EXPECT_EQ(judge().unrecovered, 1U);
}

TEST_F(ProofTest, AConnectionThatNobodyTookOverIsUnrecovered) {
    whole_run();
    events_.harms.push_back(
        Harm{.at_us = 160 * ms, .kind = HarmKind::kill, .worker = "w", .session = "s2", .connections = {"a", "never"}});
    EXPECT_EQ(judge().unrecovered, 2U);
}

TEST(Spread, IsByNearestRank) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 150; i > 0; --i) {
        values.push_back(i);
    }
    EXPECT_EQ(spread_of(values), (Spread{.count = 150, .p50_us = 75, .p99_us = 149, .max_us = 150}));
    EXPECT_EQ(spread_of({7}), (Spread{.count = 1, .p50_us = 7, .p99_us = 7, .max_us = 7}));
    EXPECT_EQ(spread_of({}), Spread{});
}

}  // namespace
}  // namespace longhold::fleet
