// SPDX-License-Identifier: Apache-2.0
// A store file that somebody else holds: calls end by their deadline, what was not begun is never done, and afterwards
// everything goes on.
#include <longhold/runtime/task_group.h>

#include <chrono>

#include "sqlite_world_test.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;
using contract::Handle;
using contract::is_done;
using contract::session_row;

constexpr Duration slack = 500ms;  // a scheduling delay on a busy machine

class SqliteBusyTest : public SqliteTest {
protected:
    SqliteBusyTest() {
        EXPECT_TRUE(is_done(store_(store_->join({.row = session_row("s1")}, store_.soon()))));
        EXPECT_TRUE(is_done(
            store_(store_->put_connection({.id = ConnectionId{"c1"}, .labels = {}, .spec = "{}"}, store_.soon()))));
    }

    [[nodiscard]] core::Beat beat(std::uint64_t counter) const {
        return {.session = SessionId{"s1"}, .counter_expected = counter, .attempt = AttemptToken{"beat"}};
    }

    [[nodiscard]] StoreOptions telling_failures() {
        auto telling = options();
        telling.on_write_failure = [this](const Error& error) { failures_.push_back(error.detail); };
        return telling;
    }

    std::vector<std::string> failures_;
    Handle store_ = handle(telling_failures());
    Intruder intruder_{folder_.path("store.db")};
};

TEST_F(SqliteBusyTest, WritesAnswerUnknownByTheDeadlineAndHoldAfterwards) {
    intruder_.run("BEGIN IMMEDIATE");
    const Instant began = store_.now();
    EXPECT_EQ(store_(store_->beat(beat(0), store_.in(200ms))).verdict, core::Verdict::unknown);
    EXPECT_EQ(store_(store_->set_desired(ConnectionId{"c1"}, core::DesiredState::stopped, store_.in(200ms))).verdict,
              core::Verdict::unknown);
    EXPECT_GE(store_.now() - began, 300ms) << "the lock was waited for";
    EXPECT_LE(store_.now() - began, 400ms + slack);
    ASSERT_EQ(failures_.size(), 2U);
    EXPECT_NE(failures_[0].find("locked by another process"), std::string::npos) << failures_[0];
    intruder_.run("COMMIT");
    EXPECT_TRUE(is_done(store_(store_->beat(beat(0), store_.soon())))) << "the late heartbeat was never written";
    EXPECT_TRUE(is_done(store_(store_->set_desired(ConnectionId{"c1"}, core::DesiredState::stopped, store_.soon()))));
}

TEST_F(SqliteBusyTest, ReadsGoOnWhileSomebodyWrites) {
    intruder_.run("BEGIN IMMEDIATE; UPDATE session SET zone = 'unseen'");
    const auto session = store_(store_->get_session(SessionId{"s1"}, store_.in(1s)));
    ASSERT_TRUE(session.has_value());
    EXPECT_EQ((*session)->zone, "eu-1a");
    intruder_.run("ROLLBACK");
}

TEST_F(SqliteBusyTest, AWriteWaitsForALockThatEndsInTime) {
    intruder_.run("BEGIN IMMEDIATE");
    bool done = false;
    boost::asio::co_spawn(store_.loop().context(), store_->beat(beat(0), store_.soon()),
                          [&](const std::exception_ptr&, const core::Outcome<core::SessionRow>& outcome) {
                              EXPECT_TRUE(is_done(outcome));
                              done = true;
                          });
    store_.loop().context().run_for(50ms);
    EXPECT_FALSE(done);
    intruder_.run("COMMIT");
    while (!done) {
        store_.loop().context().run_one();
    }
}

TEST_F(SqliteBusyTest, AJobPastItsDeadlineIsNotCarriedOut) {
    intruder_.run("BEGIN IMMEDIATE");
    int answered = 0;
    const auto count = [&](const std::exception_ptr&, const core::Outcome<core::ConnectionRow>& outcome) {
        EXPECT_EQ(outcome.verdict, core::Verdict::unknown);
        ++answered;
    };
    // The first waits for the lock; those behind it are still queued when their deadline passes.
    for (const std::string id : {"n1", "n2", "n3"}) {
        boost::asio::co_spawn(
            store_.loop().context(),
            store_->put_connection({.id = ConnectionId{id}, .labels = {}, .spec = "{}"}, store_.in(150ms)), count);
    }
    while (answered < 3) {
        store_.loop().context().run_one();
    }
    intruder_.run("COMMIT");
    // The queue is in order: once this one is answered, the others have had their turn.
    const auto rows = store_(store_->list_connections({}, true, ConnectionId{}, 10, store_.soon()));
    ASSERT_TRUE(rows.has_value());
    EXPECT_EQ(contract::ids(rows->rows), std::vector<std::string>{"c1"});
}

runtime::Task<> put_into(Store& store, std::string id, Instant deadline) {
    PutConnection verb{.id = ConnectionId{id}, .labels = {}, .spec = "{}"};
    co_await store.put_connection(std::move(verb), deadline);
}

// Puts two connections and cancels that while the first waits for the lock and the second is queued.
Task<bool> put_and_cancel(runtime::Loop& loop, Store& store, Instant deadline) {
    runtime::TaskGroup group{loop};
    group.spawn(put_into(store, "n1", deadline));
    group.spawn(put_into(store, "n2", deadline));
    co_await runtime::sleep_until(loop, loop.clock().now() + 50ms);
    group.stop();
    co_await group.join();
    co_return true;
}

TEST_F(SqliteBusyTest, ACancelledCallIsNotCarriedOutLater) {
    intruder_.run("BEGIN IMMEDIATE");
    EXPECT_TRUE(store_(put_and_cancel(store_.loop(), *store_.operator->(), store_.soon())));
    intruder_.run("COMMIT");
    const auto rows = store_(store_->list_connections({}, true, ConnectionId{}, 10, store_.soon()));
    ASSERT_TRUE(rows.has_value());
    EXPECT_EQ(contract::ids(rows->rows), std::vector<std::string>{"c1"});
}

TEST_F(SqliteBusyTest, HeartbeatsDoNotQueueBehindTheRest) {
    bool listed = false;
    intruder_.run("BEGIN IMMEDIATE");
    boost::asio::co_spawn(store_.loop().context(), store_->purge_deleted(WallTime{}, 1, store_.soon()),
                          [&](const std::exception_ptr&, const Result<std::uint32_t>&) { listed = true; });
    store_.loop().context().run_for(30ms);
    const auto session = store_(store_->get_session(SessionId{"s1"}, store_.in(1s)));
    EXPECT_TRUE(session.has_value()) << "answered while the other lane is stuck";
    EXPECT_FALSE(listed);
    intruder_.run("COMMIT");
    while (!listed) {
        store_.loop().context().run_one();
    }
}

TEST_F(SqliteBusyTest, AnExclusiveHolderMakesReadsUnavailableByTheDeadline) {
    // Nobody can be locked out of a WAL file that is in use, so the file is locked before it is opened again.
    auto short_wait = options("exclusive.db");
    {
        Handle create = handle(short_wait);
    }
    auto exclusive = std::make_unique<Intruder>(folder_.path("exclusive.db"));
    exclusive->run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE fleet SET buckets = buckets; COMMIT");
    short_wait.open_within = 200ms;
    const Instant began = store_.now();
    const Error error = refusal(short_wait);
    EXPECT_EQ(error.code, Errc::unavailable) << error.detail;
    EXPECT_LE(store_.now() - began, 200ms + slack);

    auto given_up = short_wait;
    given_up.open_within = 1h;
    given_up.given_up = std::make_shared<std::atomic<bool>>(true);
    EXPECT_EQ(refusal(given_up).code, Errc::unavailable);

    exclusive.reset();
    Handle again = handle(short_wait);
    EXPECT_TRUE(again(again->info(again.soon())).has_value());
}

TEST_F(SqliteBusyTest, AStoreFileThatWasReplacedTakesNoWrites) {
    std::filesystem::rename(folder_.path("store.db"), folder_.path("moved.db"));
    EXPECT_EQ(store_(store_->beat(beat(0), store_.in(1s))).verdict, core::Verdict::unknown);
    {
        Handle fresh = handle(options());
    }
    EXPECT_EQ(store_(store_->beat(beat(0), store_.in(1s))).verdict, core::Verdict::unknown)
        << "another file at the path is not our store";
    ASSERT_EQ(failures_.size(), 2U);
    EXPECT_NE(failures_[1].find("moved, removed or replaced"), std::string::npos) << failures_[1];
}

TEST_F(SqliteBusyTest, AFullQueueIsUnavailableAtOnce) {
    intruder_.run("BEGIN IMMEDIATE");
    int answered = 0;
    int refused = 0;
    constexpr int calls = 4200;
    for (int i = 0; i < calls; ++i) {
        boost::asio::co_spawn(store_.loop().context(), store_->purge_deleted(WallTime{}, 1, store_.soon()),
                              [&](const std::exception_ptr&, const Result<std::uint32_t>& answer) {
                                  ++answered;
                                  refused += answer.has_value() ? 0 : 1;
                              });
    }
    store_.loop().context().poll();
    EXPECT_EQ(refused, calls - 4096);
    intruder_.run("COMMIT");
    while (answered < calls) {
        store_.loop().context().run_one();
    }
    EXPECT_EQ(refused, calls - 4096);
}

}  // namespace
}  // namespace longhold::store
