// SPDX-License-Identifier: Apache-2.0
// Several I/O loops: placing connections on them, and one that does not turn any more.
#include <latch>

#include "control.h"
#include "worker_test_rig.h"

namespace longhold::worker {
namespace {

using namespace test;
using sink::RecordKind;

class ManyLoopsTest : public WorkersTest {
protected:
    static WorkerOptions options() {
        auto two = worker_options("a");
        two.threads = 2;
        two.stuck_after = 400ms;
        return two;
    }

    // Resolves as the product does, but stands still at specs that name `stuck` until the latch opens.
    static SpecResolver resolver(std::shared_ptr<std::latch> go_on) {
        return [good = spec_resolver(), go_on = std::move(go_on)](const std::string& spec) {
            if (spec.find("stuck") != std::string::npos) {
                go_on->wait();
            }
            return good(spec);
        };
    }
};

TEST_F(ManyLoopsTest, AStuckLoopLosesItsConnectionsAndDoesNothingWhenItTurnsAgain) {
    put_feeds(6);
    const auto go_on = std::make_shared<std::latch>(1);
    const auto a = node(options(), resolver(go_on));
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(6));
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    put("z", feed_spec(mock_.port(), "stuck", replayed));
    ASSERT_TRUE(eventually([&] { return a->metrics.counter("longhold_stuck_loops_total").value() == 1; }));
    set_desired("z", core::DesiredState::stopped);
    // Those of the stuck loop are claimed anew, for the other one.
    ASSERT_TRUE(eventually([&] {
        int moved = 0;
        for (int i = 0; i < 6; ++i) {
            moved += row(id(i)).epoch == Epoch{2} ? 1 : 0;
        }
        return moved == 3 && a->status().held == 6;
    }));
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    go_on->count_down();
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 10));
        const auto records = a->sink.seen(id(i));
        for (std::size_t k = 1; k < records.size(); ++k) {
            ASSERT_GE(records[k].epoch, records[k - 1].epoch) << "an old epoch acts again";
        }
        expect_nothing_lost(records);
        EXPECT_EQ(oracle(id(i), "/live"), 1);
    }
    EXPECT_EQ(a->failures, 0);
}

TEST_F(ManyLoopsTest, WhenNoLoopTurnsTheSessionEnds) {
    const auto go_on = std::make_shared<std::latch>(1);
    auto one = options();
    one.threads = 1;
    const auto a = node(one, resolver(go_on));
    ASSERT_TRUE(a->start());
    const auto name = a->status().session;
    put("z", feed_spec(mock_.port(), "stuck", replayed));
    EXPECT_TRUE(eventually([&] { return a->failures == 1; }));
    EXPECT_EQ(a->status().session_state, "ended");
    EXPECT_EQ(session(name)->state, core::SessionState::fenced);
    go_on->count_down();
}

TEST_F(ManyLoopsTest, ConnectionsAreSpreadOverTheLoopsAndGivenBackFromThem) {
    put_feeds(20);
    const auto a = node(options());
    ASSERT_TRUE(a->start());
    ASSERT_TRUE(a->eventually_holds(20));
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(eventually_data(*a, id(i), 3));
    }
    EXPECT_EQ(a->drain(), 0U);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(row(id(i)).cursor->ordinal, a->sink.seen(id(i)).size());
        EXPECT_EQ(oracle(id(i), "/live"), 0);
    }
    EXPECT_TRUE(a->leave());
}

// The control loop's own view, without the facade.
TEST_F(ManyLoopsTest, ALateReportOnAnOlderEpochDoesNotHideTheOneThatIsOpen) {
    put_feeds(2);
    QuietLog log{clock_};
    telemetry::Metrics metrics;
    FakeSink sink{clock_};
    runtime::AbortTable sockets{64};
    runtime::Watchdog watchdog{clock_, sockets, {}};
    const WorkerOptions two = options();
    const WorkerParts parts{.control = control_.loop(),
                            .store = *admin_,
                            .sink = sink,
                            .sockets = sockets,
                            .watchdog = watchdog,
                            .log = log.log(),
                            .metrics = metrics,
                            .resolve = spec_resolver(),
                            .on_drain_asked = [] {},
                            .on_failed = [](const std::string&) {}};
    std::vector<std::unique_ptr<IoLoop>> loops;
    std::optional<Control> control;
    control_.on([&] {
        control.emplace(two, parts, loops);
        for (std::uint32_t i = 0; i < 2; ++i) {
            IoLoopOptions own{.number = i, .backoff = two.backoff};
            loops.push_back(std::make_unique<IoLoop>(own, clock_, sink, sockets, log.log(), metrics, parts.resolve,
                                                     IoLoop::Reports{.closed = [&](core::Closed closed) {
                                                         control_.loop().post([&, closed] { control->closed(closed); });
                                                     }}));
        }
        control->start();
    });
    for (const auto& name : {id(0), id(1)}) {
        ASSERT_TRUE(eventually([&] { return sink.count(name, RecordKind::data) > 3; }));
        control_.on([&] { control->closed(core::Closed{ConnectionId{name}, Epoch{0}, std::nullopt}); });
        set_desired(name, core::DesiredState::stopped);
    }
    for (const auto& name : {id(0), id(1)}) {
        ASSERT_TRUE(eventually([&] { return !row(name).owner.is_session(); }));
        EXPECT_EQ(oracle(name, "/live"), 0) << "given back while its socket lives";
        EXPECT_EQ(row(name).cursor->ordinal, sink.seen(name).size());
    }
    sink.discard();
    control_.on([&] {
        for (const auto& loop : loops) {
            loop->stop();
        }
    });
    control_.await([&] { return control->stop(); });
    control_.on([&] {
        loops.clear();
        control->stop_watching();
        control.reset();
    });
}

}  // namespace
}  // namespace longhold::worker
