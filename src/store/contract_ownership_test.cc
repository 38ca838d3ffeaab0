// SPDX-License-Identifier: Apache-2.0
#include "contract_test.h"

namespace longhold::store::contract {
namespace {

using core::DesiredState;

const std::optional<core::ConnectionRow> no_row;

TEST_P(StoreContract, ClaimTakesAnUnownedRow) {
    auto expected = put("c1");
    auto verb = claim_of(expected, "s1", "token");
    verb.cursor = cursor_at(0, 5);
    const auto outcome = claim(verb);
    ASSERT_TRUE(is_done(outcome));
    expected.owner = core::Owner::session(SessionId{"s1"});
    expected.epoch = expected.epoch.next();
    expected.attempt = AttemptToken{"token"};
    expected.cursor = verb.cursor;
    expected.updated_at = outcome.row->updated_at;
    EXPECT_EQ(*outcome.row, expected);
    EXPECT_EQ(get("c1"), expected) << "a done write is read back by its token";
}

TEST_P(StoreContract, ClaimIsRefusedWithAnotherOwnerOrEpoch) {
    const auto unowned_row = put("c1");
    const auto owned = claim(claim_of(unowned_row, "s1"));
    ASSERT_TRUE(is_done(owned));
    EXPECT_TRUE(is_refused_by(claim(claim_of(unowned_row, "s2")), owned.row));
    auto old_epoch = claim_of(*owned.row, "s2");
    old_epoch.epoch_expected = unowned_row.epoch;
    EXPECT_TRUE(is_refused_by(claim(old_epoch), owned.row));
    auto other_owner = claim_of(*owned.row, "s2");
    other_owner.owner_expected = core::Owner::session(SessionId{"s3"});
    EXPECT_TRUE(is_refused_by(claim(other_owner), owned.row));
    EXPECT_EQ(get("c1"), *owned.row);
}

TEST_P(StoreContract, ClaimTakesOverFromASessionAndClaimsItsOwnRowAnew) {
    const auto first = claimed("c1", "s1");
    const auto second = claim(claim_of(first, "s2"));
    ASSERT_TRUE(is_done(second));
    EXPECT_EQ(second.row->epoch, first.epoch.next());
    EXPECT_TRUE(second.row->owner.is(SessionId{"s2"}));
    const auto anew = claim(claim_of(*second.row, "s2"));
    ASSERT_TRUE(is_done(anew));
    EXPECT_EQ(anew.row->epoch, second.row->epoch.next());
}

TEST_P(StoreContract, ClaimRechecksThatTheRowIsWanted) {
    const auto stopped = put("c1", DesiredState::stopped);
    EXPECT_TRUE(is_refused_by(claim(claim_of(stopped, "s1")), std::optional{stopped}));
    claimed("c2", "s1");
    const auto deleted = set_desired("c2", DesiredState::deleted);
    EXPECT_TRUE(is_refused_by(claim(claim_of(deleted, "s2")), std::optional{deleted}));
}

TEST_P(StoreContract, ClaimNeverCreatesARow) {
    core::ConnectionRow imagined;
    imagined.id = ConnectionId{"c1"};
    imagined.owner = nobody(DesiredState::started, "c1");
    EXPECT_TRUE(is_refused_by(claim(claim_of(imagined, "s1")), no_row));
    EXPECT_TRUE(store_(store_->get_connections({ConnectionId{"c1"}}, store_.soon()))->empty());
}

TEST_P(StoreContract, ClaimSetsOnlyACursorThatIsFurther) {
    auto row = put("c1");
    for (const auto& [given, kept] : std::vector<std::pair<std::optional<core::Cursor>, core::Cursor>>{
             {cursor_at(1, 10, "first"), cursor_at(1, 10, "first")},
             {std::nullopt, cursor_at(1, 10, "first")},
             {cursor_at(1, 9, "behind"), cursor_at(1, 10, "first")},
             {cursor_at(1, 10, "equal"), cursor_at(1, 10, "first")},
             {cursor_at(1, 11, "ahead"), cursor_at(1, 11, "ahead")},
             {cursor_at(2, 1, "later epoch"), cursor_at(2, 1, "later epoch")},
             {cursor_at(1, 99, "earlier epoch"), cursor_at(2, 1, "later epoch")}}) {
        auto verb = claim_of(row, "s1");
        verb.cursor = given;
        const auto outcome = claim(verb);
        ASSERT_TRUE(is_done(outcome));
        row = *outcome.row;
        EXPECT_EQ(row.cursor, kept);
    }
}

TEST_P(StoreContract, ReleaseGivesTheRowBackToItsBucketAndKeepsTheEpoch) {
    auto expected = claimed("c1", "s1");
    auto verb = release_of(expected, "token");
    verb.cursor = cursor_at(expected.epoch.value, 44, "resume here");
    const auto outcome = release(verb);
    ASSERT_TRUE(is_done(outcome));
    expected.owner = nobody(DesiredState::started, "c1");
    expected.attempt = AttemptToken{"token"};
    expected.cursor = verb.cursor;
    expected.updated_at = outcome.row->updated_at;
    EXPECT_EQ(*outcome.row, expected);
    EXPECT_EQ(get("c1"), expected);
}

TEST_P(StoreContract, ReleaseOfAnUnwantedRowPicksItsUnwantedBucket) {
    for (const DesiredState desired : {DesiredState::stopped, DesiredState::deleted}) {
        const std::string id{core::text(desired)};
        claimed(id, "s1");
        const auto outcome = release(release_of(set_desired(id, desired)));
        ASSERT_TRUE(is_done(outcome));
        EXPECT_EQ(outcome.row->owner, nobody(desired, id));
        EXPECT_TRUE(outcome.row->owner.text().starts_with("off#"));
    }
    EXPECT_TRUE(unowned(every_bucket()).empty());
}

TEST_P(StoreContract, ReleaseIsRefusedToAnyoneButTheOwnerOfThisEpoch) {
    const auto row = claimed("c1", "s1");
    auto stranger = release_of(row);
    stranger.session = SessionId{"s2"};
    EXPECT_TRUE(is_refused_by(release(stranger), std::optional{row}));
    const auto anew = claim(claim_of(row, "s1"));
    EXPECT_TRUE(is_refused_by(release(release_of(row)), anew.row)) << "the epoch has moved on";
    EXPECT_TRUE(is_done(release(release_of(*anew.row))));
    const auto free = get("c1");
    EXPECT_TRUE(is_refused_by(release(release_of(*anew.row)), std::optional{free})) << "given back already";
    auto absent = release_of(row);
    absent.connection = ConnectionId{"c2"};
    EXPECT_TRUE(is_refused_by(release(absent), no_row));
}

TEST_P(StoreContract, ReleaseNeverMovesTheCursorBack) {
    auto verb = claim_of(put("c1"), "s1");
    verb.cursor = cursor_at(1, 10, "far");
    const auto row = claim(verb);
    auto back = release_of(*row.row);
    back.cursor = cursor_at(1, 3, "behind");
    EXPECT_EQ(release(back).row->cursor, cursor_at(1, 10, "far"));
}

TEST_P(StoreContract, ItemsOfABatchAreIndependentAndInOrder) {
    const auto first = put("c1");
    const auto second = claimed("c2", "s9");
    const auto third = put("c3");
    auto absent = claim_of(first, "s1");
    absent.connection = ConnectionId{"c0"};
    auto stale = claim_of(second, "s1");
    stale.epoch_expected = Epoch{0};
    const auto outcomes =
        store_(store_->claim({claim_of(third, "s1"), stale, absent, claim_of(first, "s1")}, store_.soon()));
    ASSERT_EQ(outcomes.size(), 4U);
    EXPECT_TRUE(is_done(outcomes[0]));
    EXPECT_EQ(outcomes[0].row->id, third.id);
    EXPECT_TRUE(is_refused_by(outcomes[1], std::optional{second}));
    EXPECT_TRUE(is_refused_by(outcomes[2], no_row));
    EXPECT_TRUE(is_done(outcomes[3]));

    auto foreign = release_of(second);
    foreign.session = SessionId{"s1"};
    const auto released =
        store_(store_->release({release_of(*outcomes[0].row), foreign, release_of(*outcomes[3].row)}, store_.soon()));
    ASSERT_EQ(released.size(), 3U);
    EXPECT_TRUE(is_done(released[0]));
    EXPECT_TRUE(is_refused_by(released[1], std::optional{second}));
    EXPECT_TRUE(is_done(released[2]));
}

TEST_P(StoreContract, ASecondClaimOfTheSameRowInOneBatchSeesTheFirst) {
    const auto row = put("c1");
    const auto outcomes =
        store_(store_->claim({claim_of(row, "s1", "one"), claim_of(row, "s1", "two")}, store_.soon()));
    ASSERT_EQ(outcomes.size(), 2U);
    EXPECT_TRUE(is_done(outcomes[0]));
    EXPECT_TRUE(is_refused_by(outcomes[1], outcomes[0].row));
}

TEST_P(StoreContract, AnEmptyBatchHasNoOutcomes) {
    EXPECT_TRUE(store_(store_->claim({}, store_.soon())).empty());
    EXPECT_TRUE(store_(store_->release({}, store_.soon())).empty());
}

TEST_P(StoreContract, ASessionThatOwnsARowIsNotRemoved) {
    join("s1");
    const auto row = claimed("c1", "s1");
    const auto left = store_(store_->leave({.session = SessionId{"s1"}, .attempt = {}}, store_.soon()));
    const core::RemoveSession verb{.session = SessionId{"s1"}};
    EXPECT_TRUE(is_refused_by(store_(store_->remove_session(verb, store_.soon())), left.row));
    EXPECT_TRUE(is_done(claim(claim_of(row, "s2"))));
    EXPECT_TRUE(is_done(store_(store_->remove_session(verb, store_.soon()))));
}

TEST_P(StoreContract, CursorPagesAreWrittenWholeAndReadInOrder) {
    join("s1");
    const auto page = [](std::uint32_t number, std::vector<core::CursorEntry> entries) {
        return core::CursorPage{.session = SessionId{"s1"}, .number = number, .entries = std::move(entries)};
    };
    const std::string odd = "quote \" slash \\ line \n nothing \x01 umlaut \xC3\xBC";
    const auto second = page(1, {{ConnectionId{"c3"}, cursor_at(1, 1)}});
    EXPECT_TRUE(store_(store_->write_cursor_page(second, store_.soon())).has_value());
    EXPECT_TRUE(store_(store_->write_cursor_page(
                           page(0, {{ConnectionId{"c1"}, cursor_at(1, 1)}, {ConnectionId{"c2"}, cursor_at(1, 1)}}),
                           store_.soon()))
                    .has_value());
    const auto first = page(0, {{ConnectionId{odd}, cursor_at(UINT32_MAX + 9ULL, INT64_MAX, odd)},
                                {ConnectionId{"c4"}, cursor_at(2, 3, "")}});
    EXPECT_TRUE(store_(store_->write_cursor_page(first, store_.soon())).has_value());
    const auto pages = store_(store_->read_cursor_pages(SessionId{"s1"}, store_.soon()));
    ASSERT_TRUE(pages.has_value());
    EXPECT_EQ(*pages, (std::vector{first, second}));
    EXPECT_TRUE(store_(store_->read_cursor_pages(SessionId{"s2"}, store_.soon()))->empty());
}

TEST_P(StoreContract, APageOfASessionThatIsNotThereIsNotKept) {
    const core::CursorPage page{.session = SessionId{"s1"}, .number = 0, .entries = {}};
    const auto written = store_(store_->write_cursor_page(page, store_.soon()));
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, Errc::not_found);
    EXPECT_TRUE(store_(store_->read_cursor_pages(SessionId{"s1"}, store_.soon()))->empty());
}

}  // namespace
}  // namespace longhold::store::contract
