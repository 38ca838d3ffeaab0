// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "contract_test.h"

namespace longhold::store::contract {
namespace {

using core::SessionState;

core::Beat beat_of(const std::string& session, std::uint64_t counter, const std::string& attempt = "beat") {
    return {.session = SessionId{session},
            .counter_expected = counter,
            .attempt = AttemptToken{attempt},
            .state = SessionState::active,
            .load = 7};
}

core::Fence fence_of(const std::string& session, std::optional<std::uint64_t> counter, bool create_if_absent = false) {
    return {.session = SessionId{session},
            .counter_expected = counter,
            .attempt = AttemptToken{"fence"},
            .create_if_absent = create_if_absent};
}

TEST_P(StoreContract, JoinCreatesTheSessionWithEveryField) {
    const auto row = session_row("s1");
    EXPECT_TRUE(is_done(store_(store_->join({.row = row}, store_.soon()))));
    const auto read = store_(store_->get_session(SessionId{"s1"}, store_.soon()));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, row);
}

TEST_P(StoreContract, JoinIsRefusedWhereTheSessionExists) {
    const auto row = join("s1");
    auto second = session_row("s1");
    second.worker_id = WorkerId{"another"};
    EXPECT_TRUE(is_refused_by(store_(store_->join({.row = second}, store_.soon())), std::optional{row}));
}

TEST_P(StoreContract, BeatRaisesTheCounterAndSetsItsFields) {
    auto expected = join("s1");
    auto verb = beat_of("s1", 0);
    verb.state = SessionState::draining;
    const auto outcome = store_(store_->beat(verb, store_.soon()));
    expected.counter = 1;
    expected.attempt = AttemptToken{"beat"};
    expected.state = SessionState::draining;
    expected.load = 7;
    EXPECT_EQ(outcome, Session::done(expected));
    const auto read = store_(store_->get_session(SessionId{"s1"}, store_.soon()));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, expected) << "a done write is read back by its token";
}

TEST_P(StoreContract, BeatIsRefusedWithAnotherCounterAndWhereThereIsNoSession) {
    const auto row = join("s1");
    EXPECT_TRUE(is_refused_by(store_(store_->beat(beat_of("s1", 1), store_.soon())), std::optional{row}));
    EXPECT_TRUE(
        is_refused_by(store_(store_->beat(beat_of("s2", 0), store_.soon())), std::optional<core::SessionRow>{}));
}

TEST_P(StoreContract, OfTwoBeatsWithOneCounterOnlyTheFirstHolds) {
    join("s1");
    const auto first = store_(store_->beat(beat_of("s1", 0, "first"), store_.soon()));
    ASSERT_TRUE(is_done(first));
    EXPECT_TRUE(is_refused_by(store_(store_->beat(beat_of("s1", 0, "second"), store_.soon())), first.row));
}

TEST_P(StoreContract, LeaveIsFinal) {
    auto expected = join("s1");
    const core::Leave verb{.session = SessionId{"s1"}, .attempt = AttemptToken{"leave"}};
    expected.state = SessionState::left;
    expected.attempt = verb.attempt;
    EXPECT_EQ(store_(store_->leave(verb, store_.soon())), Session::done(expected));
    const std::optional current{expected};
    EXPECT_TRUE(is_refused_by(store_(store_->leave(verb, store_.soon())), current));
    EXPECT_TRUE(is_refused_by(store_(store_->beat(beat_of("s1", 0), store_.soon())), current));
    EXPECT_TRUE(is_refused_by(store_(store_->fence(fence_of("s1", 0), store_.soon())), current));
    EXPECT_TRUE(is_refused_by(store_(store_->join({.row = session_row("s1")}, store_.soon())), current));
    EXPECT_TRUE(is_refused_by(store_(store_->request_drain(SessionId{"s1"}, store_.soon())), current));
}

TEST_P(StoreContract, LeaveIsRefusedWhereThereIsNoSession) {
    const core::Leave verb{.session = SessionId{"s1"}, .attempt = AttemptToken{"leave"}};
    EXPECT_TRUE(is_refused_by(store_(store_->leave(verb, store_.soon())), std::optional<core::SessionRow>{}));
}

TEST_P(StoreContract, FenceEndsASessionWhoseCounterDidNotMove) {
    auto expected = join("s1");
    expected.state = SessionState::fenced;
    expected.attempt = AttemptToken{"fence"};
    EXPECT_EQ(store_(store_->fence(fence_of("s1", 0), store_.soon())), Session::done(expected));
    const std::optional current{expected};
    EXPECT_TRUE(is_refused_by(store_(store_->beat(beat_of("s1", 0), store_.soon())), current));
    EXPECT_TRUE(
        is_refused_by(store_(store_->leave({.session = SessionId{"s1"}, .attempt = {}}, store_.soon())), current));
    EXPECT_TRUE(is_refused_by(store_(store_->fence(fence_of("s1", std::nullopt), store_.soon())), current));
}

TEST_P(StoreContract, FenceWithAStaleCounterIsRefused) {
    join("s1");
    const auto beaten = store_(store_->beat(beat_of("s1", 0), store_.soon()));
    EXPECT_TRUE(is_refused_by(store_(store_->fence(fence_of("s1", 0), store_.soon())), beaten.row));
    EXPECT_TRUE(is_done(store_(store_->fence(fence_of("s1", 1), store_.soon()))));
}

TEST_P(StoreContract, FenceWithoutACounterEndsAnyLiveSession) {
    join("s1");
    EXPECT_TRUE(is_done(store_(store_->beat(beat_of("s1", 0), store_.soon()))));
    EXPECT_TRUE(is_done(store_(store_->fence(fence_of("s1", std::nullopt), store_.soon()))));
}

TEST_P(StoreContract, FenceOfAnAbsentSessionIsRefusedUnlessItCreates) {
    EXPECT_TRUE(is_refused_by(store_(store_->fence(fence_of("s1", std::nullopt), store_.soon())),
                              std::optional<core::SessionRow>{}));
    const auto fenced = store_(store_->fence(fence_of("s1", std::nullopt, true), store_.soon()));
    ASSERT_TRUE(is_done(fenced));
    EXPECT_EQ(fenced.row->state, SessionState::fenced);
    EXPECT_TRUE(fenced.row->worker_id.empty());
    EXPECT_EQ(fenced.row->attempt, AttemptToken{"fence"});
    EXPECT_TRUE(is_refused_by(store_(store_->join({.row = session_row("s1")}, store_.soon())), fenced.row))
        << "it can never be joined later";
}

TEST_P(StoreContract, FenceThatMayCreateStillNamesTheCounterOfARowThatIsThere) {
    const auto row = join("s1");
    EXPECT_TRUE(is_refused_by(store_(store_->fence(fence_of("s1", 5, true), store_.soon())), std::optional{row}));
}

TEST_P(StoreContract, RemoveSessionIsRefusedUnlessFinal) {
    const auto row = join("s1");
    const core::RemoveSession verb{.session = SessionId{"s1"}};
    EXPECT_TRUE(is_refused_by(store_(store_->remove_session(verb, store_.soon())), std::optional{row}));
    EXPECT_TRUE(is_refused_by(store_(store_->remove_session({.session = SessionId{"s2"}}, store_.soon())),
                              std::optional<core::SessionRow>{}));
}

TEST_P(StoreContract, RemoveSessionTakesItsPagesAndNoOthers) {
    join("s1");
    join("s2");
    for (const std::string session : {"s1", "s2"}) {
        const core::CursorPage page{
            .session = SessionId{session}, .number = 0, .entries = {{ConnectionId{"c"}, cursor_at(1, 1)}}};
        EXPECT_TRUE(store_(store_->write_cursor_page(page, store_.soon())).has_value());
    }
    const auto fenced = store_(store_->fence(fence_of("s1", std::nullopt), store_.soon()));
    EXPECT_EQ(store_(store_->remove_session({.session = SessionId{"s1"}}, store_.soon())), fenced);
    const auto read = store_(store_->get_session(SessionId{"s1"}, store_.soon()));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, std::nullopt);
    EXPECT_TRUE(store_(store_->read_cursor_pages(SessionId{"s1"}, store_.soon()))->empty());
    EXPECT_EQ(store_(store_->read_cursor_pages(SessionId{"s2"}, store_.soon()))->size(), 1U);
}

TEST_P(StoreContract, ListSessionsGivesAllOfThem) {
    EXPECT_TRUE(store_(store_->list_sessions(store_.soon()))->empty());
    join("s2");
    join("s1");
    EXPECT_TRUE(is_done(store_(store_->fence(fence_of("s2", std::nullopt), store_.soon()))));
    const auto sessions = store_(store_->list_sessions(store_.soon()));
    ASSERT_TRUE(sessions.has_value());
    ASSERT_EQ(sessions->size(), 2U);
    for (const auto& row : *sessions) {
        EXPECT_EQ(row.state, row.id == SessionId{"s2"} ? SessionState::fenced : SessionState::active);
    }
}

TEST_P(StoreContract, GetSessionsGivesThoseThatExistAmongTheOnesAsked) {
    EXPECT_TRUE(store_(store_->get_sessions({}, store_.soon()))->empty());
    join("s1");
    join("s2");
    const auto beaten = store_(store_->beat(beat_of("s2", 0), store_.soon()));
    const auto fenced = store_(store_->fence(fence_of("s3", std::nullopt, true), store_.soon()));
    const auto read =
        store_(store_->get_sessions({SessionId{"s2"}, SessionId{"nobody"}, SessionId{"s3"}}, store_.soon()));
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(read->size(), 2U);
    EXPECT_NE(std::ranges::find(*read, *beaten.row), read->end());
    EXPECT_NE(std::ranges::find(*read, *fenced.row), read->end());
}

TEST_P(StoreContract, RequestDrainSetsOnlyItsFlagAndBeatsKeepIt) {
    auto expected = join("s1");
    expected.drain_requested = true;
    EXPECT_EQ(store_(store_->request_drain(SessionId{"s1"}, store_.soon())), Session::done(expected));
    EXPECT_EQ(store_(store_->request_drain(SessionId{"s1"}, store_.soon())), Session::done(expected));
    EXPECT_TRUE(store_(store_->beat(beat_of("s1", 0), store_.soon())).row->drain_requested);
    EXPECT_TRUE(is_refused_by(store_(store_->request_drain(SessionId{"s2"}, store_.soon())),
                              std::optional<core::SessionRow>{}));
}

}  // namespace
}  // namespace longhold::store::contract
