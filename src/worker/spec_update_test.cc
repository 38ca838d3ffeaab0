// SPDX-License-Identifier: Apache-2.0
// What becomes of a connection when its spec changes, cannot be used, or names a secret that was replaced.
#include "io_loop_test_rig.h"

namespace longhold::worker {
namespace {

using namespace test;
using sink::RecordKind;

class SpecUpdateTest : public IoLoopTest {
protected:
    // The spec of `id`, with further members.
    void update(const std::string& id, const std::string& feed, const std::string& more, std::uint64_t revision) {
        auto changed = row(id, "", 1, revision);
        changed.spec = feed_spec(mock_->port(), feed, more);
        io_->update(std::move(changed));
    }

    static std::string with_header(const std::string& more) { return more + R"(,"headers":{"X-Key":"1"})"; }
};

TEST_F(SpecUpdateTest, ACompatibleOneDialsAnewInTheSameEpoch) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    std::vector<MovedCursor> first;
    ASSERT_TRUE(eventually([&] {
        first = gather();
        return !first.empty();
    }));
    const auto id_before = first[0].cursor.sequence_id;
    update("a", "a", with_header(replayed), 2);
    ASSERT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
    const auto before = sink_.count("a", RecordKind::data);
    ASSERT_TRUE(eventually_data("a", before + 5));
    EXPECT_TRUE(closed().empty());
    const auto records = sink_.seen("a");
    EXPECT_EQ(records.back().epoch, 1U);
    EXPECT_EQ(records.back().stream, 1U);
    expect_contiguous(sequence_of(records));
    const auto moved = gather();
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved[0].cursor.sequence_id, id_before);
}

TEST_F(SpecUpdateTest, AnotherUrlEndsTheEpochWithACursorOfTheFormerSequence) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    std::vector<MovedCursor> moved;
    ASSERT_TRUE(eventually([&] {
        moved = gather();
        return !moved.empty();
    }));
    update("a", "other", replayed, 2);
    ASSERT_TRUE(eventually_closed());
    ASSERT_TRUE(closed()[0].cursor);
    EXPECT_EQ(closed()[0].cursor->sequence_id, moved[0].cursor.sequence_id)
        << "the next epoch sees that the spec has changed";
    EXPECT_EQ(sockets_of("other"), 0U);
}

TEST_F(SpecUpdateTest, AnotherValueOfAVariableInTheUrlEndsTheEpoch) {
    start();
    const auto spec = [this](const std::string& feed) {
        return feed_spec(mock_->port(), "{feed}", std::string{replayed} + R"(,"variables":{"feed":")" + feed + "\"}");
    };
    auto first = row("a", "");
    first.spec = spec("x");
    open(first);
    ASSERT_TRUE(eventually_data("a", 5));
    first.spec = spec("y");
    first.spec_revision = 2;
    io_->update(std::move(first));
    ASSERT_TRUE(eventually_closed());
    EXPECT_NE(closed()[0].cursor->sequence_id, 0U);
    EXPECT_EQ(sockets_of("y"), 0U);
}

TEST_F(SpecUpdateTest, AnotherWayToResumeEndsTheEpochAndKeepsTheStream) {
    start();
    open(row("a", counted));
    ASSERT_TRUE(eventually_data("a", 5));
    update("a", "a", replayed, 2);
    ASSERT_TRUE(eventually_closed());
    EXPECT_NE(closed()[0].cursor->sequence_id, 0U) << "the next epoch goes on from it";
}

TEST_F(SpecUpdateTest, OneThatCannotBeUsedLeavesTheSocketAsItIs) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    update("a", "a", std::string{replayed} + R"(,"headers":{"X-Key":"${env:MISSING}"})", 2);
    const auto meanwhile = sink_.count("a", RecordKind::data);
    ASSERT_TRUE(eventually_data("a", meanwhile + 5)) << "messages go on coming";
    EXPECT_EQ(sockets_of("a"), 1U);

    update("a", "a", with_header(replayed), 3);
    ASSERT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
    const auto before = sink_.count("a", RecordKind::data);
    ASSERT_TRUE(eventually_data("a", before + 5));
    expect_contiguous(sequence_of(sink_.seen("a")));
    EXPECT_TRUE(closed().empty());
}

TEST_F(SpecUpdateTest, AnotherUrlIsSeenAcrossARevisionThatCouldNotBeUsed) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    update("a", "a", std::string{replayed} + R"(,"headers":{"X-Key":"${env:MISSING}"})", 2);
    update("a", "other", replayed, 3);
    ASSERT_TRUE(eventually_closed());
    EXPECT_NE(closed()[0].cursor->sequence_id, 0U);
    EXPECT_EQ(sockets_of("other"), 0U);
}

TEST_F(SpecUpdateTest, OneThatCouldNeverBeUsedIsHeldAndClosesWithoutRecords) {
    start();
    auto held = row("a", std::string{replayed} + R"(,"headers":{"X-Key":"${env:MISSING}"})", 2);
    held.cursor = core::Cursor{.sequence_id = 1, .epoch = Epoch{1}, .ordinal = 7, .stream = 1, .value = "7"};
    open(held);
    ASSERT_TRUE(eventually([&] { return connections("backoff") == 1; }));
    EXPECT_TRUE(sink_.seen("a").empty());
    close("a", 2);
    ASSERT_TRUE(eventually_closed());
    EXPECT_EQ(closed()[0].cursor, held.cursor);
}

TEST_F(SpecUpdateTest, SecretsAreReadAgainBeforeEachDial) {
    const auto feed = std::make_shared<std::atomic<bool>>(false);
    resolver_ = [first = spec_resolver({{"FEED", "x"}}), second = spec_resolver({{"FEED", "y"}}),
                 feed](const std::string& spec) { return *feed ? second(spec) : first(spec); };
    start();
    auto secret = row("a", "");
    secret.spec = feed_spec(mock_->port(), "${env:FEED}", replayed);
    open(std::move(secret));
    ASSERT_TRUE(eventually_data("a", 5));
    *feed = true;
    fault("x", "drop");
    EXPECT_TRUE(eventually([&] { return sockets_of("y") == 1; }));
    EXPECT_TRUE(closed().empty()) << "a new secret is no new sequence";
}

TEST_F(SpecUpdateTest, ASecretThatCannotBeReadForAMomentIsNotNeeded) {
    const auto there = std::make_shared<std::atomic<bool>>(true);
    resolver_ = [good = spec_resolver(), there](const std::string& spec) {
        return *there ? good(spec) : std::expected<config::ResolvedProfile, std::string>{std::unexpected("gone")};
    };
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    *there = false;
    fault("a", "drop");
    EXPECT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
}

}  // namespace
}  // namespace longhold::worker
