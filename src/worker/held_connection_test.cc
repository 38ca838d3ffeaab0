// SPDX-License-Identifier: Apache-2.0
// One connection, end to end on a real loop: what it writes, how its cursor moves, how it closes.
#include "held_connection.h"

#include "io_loop_test_rig.h"

namespace longhold::worker {
namespace {

using namespace test;
using sink::RecordKind;

class HeldConnectionTest : public IoLoopTest {};

TEST_F(HeldConnectionTest, RecordsCarryEpochOrdinalAndStreamAndBeginWithTheClaim) {
    start();
    open(row("a", counted, 4));
    ASSERT_TRUE(eventually_data("a", 10));
    const auto records = sink_.seen("a");
    EXPECT_EQ(records[0].kind, RecordKind::state);
    EXPECT_NE(records[0].body.find(R"("reason":"claimed")"), std::string::npos) << records[0].body;
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].epoch, 4U);
        EXPECT_EQ(records[i].ordinal, i + 1);
        EXPECT_EQ(records[i].stream, 1U);
        EXPECT_EQ(records[i].session, rights_->session);
    }
    expect_contiguous(sequence_of(records));
}

TEST_F(HeldConnectionTest, TheCursorMovesOnlyOverWhatIsAcked) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 3));
    sink_.hold();
    settle();
    static_cast<void>(gather());
    const std::size_t acked = sink_.seen("a").size();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 2; }));
    const auto none = gather();
    EXPECT_TRUE(none.empty() || none[0].cursor.ordinal <= acked);

    sink_.release();
    ASSERT_TRUE(eventually_data("a", 10));
    settle();
    const auto moved = gather();
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved[0].epoch, Epoch{1});
    const auto records = sink_.seen("a");
    const auto at = moved[0].cursor.ordinal - 1;
    ASSERT_LT(at, records.size());
    EXPECT_EQ(moved[0].cursor.value, records[at].seq);
    EXPECT_NE(moved[0].cursor.sequence_id, 0U) << "a later owner can tell what the value counts";
}

TEST_F(HeldConnectionTest, ACursorIsToldOnceUntilItMovesAgain) {
    start_mock({.rate = 0.001});  // its messages come by hand: none
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_live("a", 1));
    settle();
    EXPECT_TRUE(eventually([&] { return gather().size() == 1; })) << "the claim's own record";
    EXPECT_TRUE(gather().empty());
}

TEST_F(HeldConnectionTest, CloseFlushesBeforeItIsTold) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    sink_.hold();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 2; }));
    close("a");
    ASSERT_TRUE(eventually_live("a", 0)) << "the socket closes at once";
    settle();
    EXPECT_TRUE(closed().empty()) << "but what was taken in is not durable yet";

    sink_.release();
    ASSERT_TRUE(eventually_closed());
    const auto records = sink_.seen("a");
    const auto told = closed()[0];
    EXPECT_EQ(told.epoch, Epoch{1});
    ASSERT_TRUE(told.cursor);
    EXPECT_EQ(told.cursor->ordinal, records.size());
    EXPECT_EQ(told.cursor->value, records.back().seq);
    EXPECT_EQ(oracle("a", "/sockets/0/closed_at_us") > 0, true);
}

TEST_F(HeldConnectionTest, ACloseWhoseRecordsAreNeverAckedIsNeverTold) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    sink_.hold();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 2; }));
    close("a");
    ASSERT_TRUE(eventually_live("a", 0));
    sink_.discard();
    ASSERT_TRUE(eventually([&] { return io_->pending_records() == 0; }));
    settle();
    EXPECT_TRUE(closed().empty());
    const auto moved = gather();
    ASSERT_EQ(moved.size(), 1U) << "the checkpoint says how far it is durable";
    EXPECT_LE(moved[0].cursor.ordinal, sink_.seen("a").size());
}

TEST_F(HeldConnectionTest, AbortDropsWithoutAReportAndEndsWhenItsRecordsAreBack) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    sink_.hold();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 2; }));
    io_->abort(ConnectionId{"a"}, Epoch{1});
    ASSERT_TRUE(eventually_live("a", 0));
    EXPECT_TRUE(eventually([&] { return connections("closing") == 1; })) << "batches still point at it";
    sink_.release();
    EXPECT_TRUE(eventually([&] { return connections("closing") == 0; }));
    EXPECT_TRUE(closed().empty());
    EXPECT_EQ(oracle("a", "/sockets/0/closed_at_us") > 0, true);
}

TEST_F(HeldConnectionTest, AbortOfAnotherEpochIsNotForIt) {
    start();
    open(row("a", replayed, 3));
    ASSERT_TRUE(eventually_data("a", 1));
    io_->abort(ConnectionId{"a"}, Epoch{2});
    close("a", 2);
    ASSERT_TRUE(eventually_closed()) << "an epoch that is not here has nothing to flush";
    EXPECT_EQ(closed()[0].epoch, Epoch{2});
    EXPECT_EQ(closed()[0].cursor, std::nullopt);
    const auto before = sink_.count("a", RecordKind::data);
    EXPECT_TRUE(eventually_data("a", before + 5));
    EXPECT_EQ(sockets_of("a"), 1U);
}

TEST_F(HeldConnectionTest, WithoutARightNothingIsWrittenOrDialled) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    rights_->revoke();
    ASSERT_TRUE(eventually_live("a", 0)) << "the next message ends the socket";
    settle();
    const auto before = sink_.seen("a").size();
    open(row("b", replayed));
    settle();
    EXPECT_TRUE(eventually([&] { return connections("backoff") == 2; }));
    EXPECT_EQ(sink_.seen("a").size(), before);
    EXPECT_TRUE(sink_.seen("b").empty());
    EXPECT_EQ(sockets_of("b"), 0U);
    EXPECT_EQ(sockets_of("a"), 1U);
}

TEST_F(HeldConnectionTest, OneThatResumesLosesNothingAcrossALostSocket) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    fault("a", "drop");
    ASSERT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
    const auto before = sink_.count("a", RecordKind::data);
    ASSERT_TRUE(eventually_data("a", before + 5));
    expect_contiguous(sequence_of(sink_.seen("a")));
    EXPECT_EQ(sink_.count("a", RecordKind::gap), 0U);
}

TEST_F(HeldConnectionTest, OneThatCannotResumeRecordsAGapForEachNewSocket) {
    start();
    open(row("a", counted));
    ASSERT_TRUE(eventually_data("a", 5));
    fault("a", "drop");
    ASSERT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
    ASSERT_TRUE(eventually([&] { return sink_.count("a", RecordKind::gap) == 1; }));
    const auto records = sink_.seen("a");
    const auto gap = std::ranges::find(records, RecordKind::gap, &Seen::kind);
    EXPECT_NE(gap->body.find(R"("reason":"no_replay")"), std::string::npos) << gap->body;
}

TEST_F(HeldConnectionTest, OneWithoutASequenceRecordsAGapForEachNewSocket) {
    start();
    open(row("a", ""));
    ASSERT_TRUE(eventually_data("a", 5));
    EXPECT_EQ(sink_.seen("a").back().seq, "");
    fault("a", "drop");
    ASSERT_TRUE(eventually([&] { return sink_.count("a", RecordKind::gap) == 1; }));
    const auto records = sink_.seen("a");
    const auto gap = std::ranges::find(records, RecordKind::gap, &Seen::kind);
    EXPECT_NE(gap->body.find(R"("reason":"no_replay")"), std::string::npos) << gap->body;
}

TEST_F(HeldConnectionTest, ARestartedSequenceBeginsANewStreamAndIsReplayedFromItsBeginning) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 20));
    fault("a", "restart_sequence=drop");
    ASSERT_TRUE(eventually([&] {
        const auto records = sink_.seen("a");
        return std::ranges::count(records, 2U, &Seen::stream) > 10;
    }));
    auto records = sink_.seen("a");
    std::erase_if(records, [](const Seen& record) { return record.stream != 2; });
    const auto numbers = sequence_of(records);
    ASSERT_FALSE(numbers.empty());
    EXPECT_EQ(numbers[0], 1U) << "from the first number on";
    expect_contiguous(numbers);
}

TEST_F(HeldConnectionTest, ItResumesFromTheCursorOfItsRow) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    close("a");
    ASSERT_TRUE(eventually_closed());
    auto next = row("a", replayed, 2);
    next.cursor = closed()[0].cursor;
    open(std::move(next));
    const auto before = sink_.count("a", RecordKind::data);
    ASSERT_TRUE(eventually_data("a", before + 5));
    const auto records = sink_.seen("a");
    expect_contiguous(sequence_of(records));
    const auto claimed = std::ranges::find(records, 2U, &Seen::epoch);
    EXPECT_NE(claimed->body.find(R"("value":")" + closed()[0].cursor->value), std::string::npos) << claimed->body;
}

TEST_F(HeldConnectionTest, BinaryMessagesAreRecordedAsBytes) {
    fault("a", "binary");
    start();
    open(row("a", counted));
    ASSERT_TRUE(eventually_data("a", 3));
    EXPECT_TRUE(sink_.seen("a").back().binary);
}

}  // namespace
}  // namespace longhold::worker
