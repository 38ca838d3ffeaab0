// SPDX-License-Identifier: Apache-2.0
// A whole worker, and two of them, on one store.
#include <longhold/worker/worker.h>

#include "worker_test_rig.h"

namespace longhold::worker {
namespace {

using namespace test;
using sink::RecordKind;

constexpr int feeds = 20;

// Of tests that wait for its end: still long enough for a busy machine to keep it until then.
constexpr Duration short_lease = 1500ms;

class WorkerTest : public WorkersTest {};

TEST_F(WorkerTest, HoldsWhatIsWantedAndGivesItBackWithItsCursors) {
    put_feeds(feeds);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    const auto name = a->status().session;
    ASSERT_TRUE(a->eventually_holds(feeds));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 5));
        EXPECT_TRUE(row(id(i)).owner.is(SessionId{name}));
    }
    EXPECT_EQ(a->status().session_state, "active");

    EXPECT_EQ(a->drain(), 0U);
    EXPECT_EQ(a->status().session_state, "draining");
    EXPECT_EQ(a->status().held, 0U);
    for (int i = 0; i < feeds; ++i) {
        const auto given = row(id(i));
        EXPECT_FALSE(given.owner.is_session());
        const auto records = a->sink.seen(id(i));
        ASSERT_TRUE(given.cursor) << id(i);
        EXPECT_EQ(given.cursor->ordinal, records.size());
        EXPECT_EQ(given.cursor->value, records.back().seq);
        EXPECT_EQ(oracle(id(i), "/live"), 0);
    }
    EXPECT_TRUE(a->leave());
    EXPECT_EQ(session(name)->state, core::SessionState::left);
    EXPECT_EQ(a->failures, 0);
}

TEST_F(WorkerTest, ADrainHandsOverToAnotherWorkerWithNothingLostOrTwice) {
    put_feeds(feeds);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(feeds));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    const auto b = node(worker_options("b"));
    ASSERT_TRUE(b->start());
    EXPECT_EQ(a->drain(), 0U);
    EXPECT_TRUE(a->leave());
    ASSERT_TRUE(b->eventually_holds(feeds));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*b, id(i), 3));
        const auto records = records_of(id(i), {a.get(), b.get()});
        EXPECT_EQ(expect_nothing_lost(records), 0U) << id(i);
        EXPECT_EQ(oracle(id(i), "/live_max"), 1) << "break before make";
    }
}

TEST_F(WorkerTest, AWorkerCutOffFromTheStoreStopsBeforeTheNextOneBegins) {
    put_feeds(feeds);
    const auto a = node(worker_options("a", short_lease));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(feeds));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    const auto former = row(id(0)).owner.text();
    const auto b = node(worker_options("b", short_lease));
    ASSERT_TRUE(b->start());
    a->fail_store(StoreFault::unreachable);
    ASSERT_TRUE(b->eventually_holds(feeds, 20s));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*b, id(i), 3));
        const auto before = a->sink.seen(id(i));
        const auto after = b->sink.seen(id(i));
        EXPECT_LT(before.back().at, after.front().at) << "G1 for " << id(i);
        EXPECT_LT(before.back().epoch, after.front().epoch);
        expect_nothing_lost(records_of(id(i), {a.get(), b.get()}));
    }
    EXPECT_EQ(session(former)->state, core::SessionState::fenced);
    EXPECT_EQ(a->status().held, 0U);
    EXPECT_GE(a->metrics.counter("longhold_self_fences_total", {{"reason", "expired"}}).value(), 1U);

    a->mend_store();
    EXPECT_TRUE(eventually([&] { return a->status().session_state == "active"; }));
    EXPECT_NE(a->status().session, former);
}

TEST_F(WorkerTest, ASinkThatStillHoldsRecordsOfALostSessionDelaysNothing) {
    put_feeds(3);
    const auto a = node(worker_options("a", short_lease));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    const auto former = a->status().session;
    a->sink.hold();
    a->fail_store(StoreFault::unreachable);
    ASSERT_TRUE(eventually([&] { return a->status().session_state == "fencing"; }));
    a->mend_store();
    ASSERT_TRUE(eventually([&] { return a->status().session_state == "active"; }));
    ASSERT_TRUE(a->eventually_holds(3, 20s)) << "the new session takes over from the former";
    a->sink.release();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
        expect_nothing_lost(a->sink.seen(id(i)));
        const auto records = a->sink.seen(id(i));
        EXPECT_GT(records.back().epoch, records.front().epoch);
        for (const auto& record : records) {
            EXPECT_EQ(record.session == SessionId{former}, record.epoch == records.front().epoch);
        }
    }
    EXPECT_GT(a->sink.revoked(), 0U);
    EXPECT_EQ(a->sink.ended(), std::vector{SessionId{former}});
}

TEST_F(WorkerTest, AnOutageShorterThanTheLeaseIsSurvived) {
    put_feeds(3);
    const auto a = node(worker_options("a", 3s));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    const auto name = a->status().session;
    ASSERT_TRUE(eventually_data(*a, id(0), 3));
    a->fail_store(StoreFault::unreachable);
    const auto beats = [&] { return control_.on([&] { return a->store.calls["beat"]; }); };
    const auto before = beats();
    ASSERT_TRUE(eventually([&] { return beats() > before; })) << "at least one heartbeat fails";
    ASSERT_TRUE(eventually_data(*a, id(0), 10)) << "messages go on";
    a->mend_store();
    const auto failed = beats();
    ASSERT_TRUE(eventually([&] { return beats() > failed + 2; }));
    EXPECT_EQ(a->status().session, name);
    EXPECT_EQ(a->status().held, 3U);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(oracle(id(i), "/live_max"), 1);
        EXPECT_EQ(a->sink.seen(id(i)).back().epoch, 1U) << "no socket was lost";
    }
}

TEST_F(WorkerTest, EveryVerbMayLoseItsAnswer) {
    put_feeds(feeds);
    const auto a = node(worker_options("a"));
    control_.on([&] {
        a->store.fault = [&](const std::string& verb) {
            return a->store.calls[verb] % 2 == 1 && verb != "get_connections" && verb != "get_session"
                       ? StoreFault::answer_lost
                       : StoreFault::none;
        };
    });
    ASSERT_TRUE(a->start());
    const auto name = a->status().session;
    ASSERT_TRUE(a->eventually_holds(feeds, 20s));
    for (int i = 0; i < feeds; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    EXPECT_EQ(a->drain(), 0U);
    for (int i = 0; i < feeds; ++i) {
        EXPECT_FALSE(row(id(i)).owner.is_session());
        EXPECT_EQ(expect_nothing_lost(a->sink.seen(id(i))), 0U);
    }
    EXPECT_TRUE(a->leave());
    EXPECT_EQ(session(name)->state, core::SessionState::left);
    EXPECT_GT(a->metrics.counter("longhold_unknown_outcomes_total").value(), 0U);
}

TEST_F(WorkerTest, AStoreThatIsNotThereYetIsWaitedFor) {
    put_feeds(1);
    const auto a = node(worker_options("a", short_lease));
    a->fail_store(StoreFault::unreachable);
    EXPECT_FALSE(a->start(300ms));
    EXPECT_EQ(a->status().session_state, "joining");
    a->mend_store();
    EXPECT_TRUE(a->eventually_holds(1));
}

TEST_F(WorkerTest, WhatIsStoppedIsFlushedAndReleased) {
    put_feeds(3);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    ASSERT_TRUE(eventually_data(*a, id(1), 3));
    set_desired(id(1), core::DesiredState::stopped);
    ASSERT_TRUE(a->eventually_holds(2));
    ASSERT_TRUE(eventually([&] { return !row(id(1)).owner.is_session(); }));
    const auto given = row(id(1));
    EXPECT_EQ(given.owner.text().substr(0, 4), "off#");
    EXPECT_EQ(given.cursor->ordinal, a->sink.seen(id(1)).size());
    EXPECT_EQ(oracle(id(1), "/live"), 0);

    set_desired(id(1), core::DesiredState::started);
    ASSERT_TRUE(a->eventually_holds(3));
    ASSERT_TRUE(eventually_data(*a, id(1), 3));
    EXPECT_EQ(expect_nothing_lost(a->sink.seen(id(1))), 0U);
}

TEST_F(WorkerTest, AnIncompatibleSpecBeginsANewStreamInANewEpoch) {
    put_feeds(1);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(eventually_data(*a, id(0), 3));
    put(id(0), feed_spec(mock_.port(), "other", replayed));
    ASSERT_TRUE(eventually([&] { return a->sink.seen(id(0)).back().stream == 2; }));
    ASSERT_TRUE(eventually_data(*a, id(0), 3));
    const auto records = a->sink.seen(id(0));
    EXPECT_EQ(records.back().epoch, 2U);
    EXPECT_TRUE(std::ranges::any_of(records, [](const Seen& record) {
        return record.kind == RecordKind::gap && record.body.find("spec_change") != std::string::npos;
    }));
}

TEST_F(WorkerTest, ADrainAskedForThroughTheStoreMayBeBegunInTheCallback) {
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    const SessionId name{a->status().session};
    const auto asked = control_.await([&] { return admin_->request_drain(name, clock_.now() + 10s); });
    ASSERT_EQ(asked.verdict, core::Verdict::done);
    ASSERT_TRUE(eventually([&] { return a->status().session_state == "draining"; }));
    EXPECT_EQ(a->drains_asked, 1);
    ASSERT_TRUE(eventually([&] { return session(name.text())->state == core::SessionState::draining; }));
}

TEST_F(WorkerTest, ASessionLostDuringADrainEndsIt) {
    put_feeds(3);
    const auto a = node(worker_options("a", short_lease));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    ASSERT_TRUE(eventually_data(*a, id(0), 3));
    a->sink.hold();
    ASSERT_TRUE(eventually([&] { return a->sink.waiting() > 0; }));
    a->fail_store(StoreFault::unreachable);
    const Instant before = clock_.now();
    a->drain(20s);
    EXPECT_LT(clock_.now() - before, 10s) << "not until its deadline: there is nothing to hand over any more";
    EXPECT_EQ(a->status().held, 0U);
    EXPECT_FALSE(a->leave(200ms));
}

TEST_F(WorkerTest, ADrainWhoseSinkTakesNothingSaysWhatIsLeftAndTheNextOwnerLosesNothing) {
    put_feeds(3);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    a->sink.hold();
    ASSERT_TRUE(eventually([&] { return a->sink.waiting() > 3; }));
    EXPECT_EQ(a->drain(300ms), 3U);
    a->sink.discard();
    EXPECT_TRUE(control_.await([&] { return a->worker->checkpoint(clock_.now() + 5s); }));
    EXPECT_TRUE(a->leave());

    const auto b = node(worker_options("b"));
    ASSERT_TRUE(b->start());
    ASSERT_TRUE(b->eventually_holds(3));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(eventually_data(*b, id(i), 3));
        EXPECT_EQ(expect_nothing_lost(records_of(id(i), {a.get(), b.get()})), 0U) << "the last checkpoint is exact";
    }
}

TEST_F(WorkerTest, ASessionThatIsNotJoinedYetIsLeftOnceItCannotBeginAnyMore) {
    const auto a = node(worker_options("a"));
    control_.on([&] { a->store.hold("join"); });
    EXPECT_FALSE(a->start(100ms));
    EXPECT_EQ(a->drain(), 0U);
    EXPECT_TRUE(a->leave());
    control_.on([&] { a->store.let_go(); });
    const auto left = session(a->status().session);
    ASSERT_TRUE(left.has_value());
    EXPECT_EQ(left->state, core::SessionState::fenced);
    EXPECT_EQ(a->failures, 0) << "somebody asked";
}

TEST_F(WorkerTest, ASessionThatMayHaveBeenJoinedIsNotLeftBeforeTheStoreSaysSo) {
    const auto a = node(worker_options("a"));
    a->fail_store(StoreFault::answer_lost);
    EXPECT_FALSE(a->start(100ms));
    EXPECT_EQ(a->drain(), 0U);
    EXPECT_FALSE(a->leave(200ms));
}

TEST_F(WorkerTest, StopsInWhateverStateItIs) {
    put_feeds(3);
    const auto a = node(worker_options("a"));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(3));
    a->end();  // neither drained nor left

    const auto b = node(worker_options("b"));
    b->fail_store(StoreFault::unreachable);
    EXPECT_FALSE(b->start(100ms));
    b->end();  // never joined

    const auto c = node(worker_options("c"));
    c->end();  // never started
}

}  // namespace
}  // namespace longhold::worker
