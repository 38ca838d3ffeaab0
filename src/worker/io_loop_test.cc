// SPDX-License-Identifier: Apache-2.0
// What the connections of one loop share: the intake, the places among the dials, batches; and several sessions' ends.
#include "io_loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io_loop_test_rig.h"

namespace longhold::worker {
namespace {

using namespace test;
using sink::RecordKind;

// A port whose peers connect and are never answered.
class SilentPort {
public:
    SilentPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(descriptor_, 64), 0);
        EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
    }

    ~SilentPort() { ::close(descriptor_); }

    SilentPort(const SilentPort&) = delete;
    SilentPort& operator=(const SilentPort&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

class SharedLoopTest : public IoLoopTest {
protected:
    core::ConnectionRow silent_row(const std::string& id) {
        auto quiet = row(id, "");
        quiet.spec = feed_spec(silent_.port(), id, counted);
        return quiet;
    }

    SilentPort silent_;
};

TEST_F(SharedLoopTest, AFullIntakeStopsReadingAndGoesOnWithoutALoss) {
    start_mock({.rate = 1000, .message_bytes = 400});
    start({.intake_bytes = 40'000});
    sink_.hold();
    for (const auto* id : {"a", "b", "c"}) {
        open(row(id, replayed));
    }
    ASSERT_TRUE(eventually([&] { return io_->pending_bytes() >= 40'000; }));
    settle();
    const auto full = io_->pending_records();
    const auto head = oracle("a", "/streams/0/head");
    ASSERT_TRUE(eventually([&] { return oracle("a", "/streams/0/head") > head + 300; }));
    EXPECT_LE(io_->pending_records(), full + 3) << "at most the message of each that another one's pause came before";
    EXPECT_LE(io_->pending_bytes(), 40'000U + 3 * 600);

    sink_.release();
    for (const auto* id : {"a", "b", "c"}) {
        ASSERT_TRUE(eventually_data(id, 400)) << id;
        expect_contiguous(sequence_of(sink_.seen(id)));
        EXPECT_EQ(sockets_of(id), 1U) << "a pause is no reason to lose the socket";
    }
}

TEST_F(SharedLoopTest, NothingIsDialledIntoAFullIntake) {
    start_mock({.rate = 1000, .message_bytes = 400});
    start({.intake_bytes = 20'000});
    sink_.hold();
    open(row("a", replayed));
    ASSERT_TRUE(eventually([&] { return io_->pending_bytes() >= 20'000; }));
    open(row("b", replayed));
    ASSERT_TRUE(eventually([&] { return connections("backoff") == 1; }));
    EXPECT_EQ(sockets_of("b"), 0U);
    io_->update(row("b", std::string{replayed} + R"(,"headers":{"X-Key":"1"})", 1, 2));
    settle();
    settle();
    EXPECT_EQ(connections("backoff"), 1) << "nor by a new spec";
    EXPECT_EQ(sockets_of("b"), 0U);
    sink_.release();
    EXPECT_TRUE(eventually_data("b", 1));
}

TEST_F(SharedLoopTest, APausedSocketClosesAtOnce) {
    start_mock({.rate = 1000, .message_bytes = 400});
    start({.intake_bytes = 20'000});
    sink_.hold();
    open(row("a", replayed));
    ASSERT_TRUE(eventually([&] { return io_->pending_bytes() >= 20'000; }));
    const Instant before = clock_.now();
    close("a");
    ASSERT_TRUE(eventually_live("a", 0));
    settle();
    ASSERT_TRUE(eventually([&] { return connections("closing") == 1; }));
    EXPECT_LT(clock_.now() - before, 1500ms) << "the close timeout is 2 s";
    sink_.release();
    ASSERT_TRUE(eventually_closed());
    EXPECT_EQ(closed()[0].cursor->ordinal, sink_.seen("a").size());
}

TEST_F(SharedLoopTest, OneThatWaitsForAPlaceAmongTheDialsCanBeClosedAndAborted) {
    start({.attempts_at_once = 1});
    open(silent_row("silent"));
    ASSERT_TRUE(eventually([&] { return sockets_.size() == 1; }));
    for (const auto* id : {"b", "c", "d"}) {
        open(row(id, replayed));
    }
    ASSERT_TRUE(eventually([&] { return connections("dialing") == 4; }));
    const Instant before = clock_.now();
    close("b");
    io_->abort(ConnectionId{"c"}, Epoch{1});
    ASSERT_TRUE(eventually_closed());
    EXPECT_EQ(closed()[0].connection, ConnectionId{"b"});
    ASSERT_TRUE(eventually([&] { return connections("dialing") == 2; }));

    io_->abort(ConnectionId{"silent"}, Epoch{1});
    EXPECT_TRUE(eventually_data("d", 1)) << "the place goes to the next in line that is still there";
    EXPECT_LT(clock_.now() - before, 9s) << "nobody waited for the dial to time out";
    EXPECT_EQ(closed().size(), 1U);
}

TEST_F(SharedLoopTest, PlacesAmongTheDialsComeBackOnEveryPath) {
    start({.attempts_at_once = 2});
    fault("refused", "status=503");
    open(row("refused", replayed));
    auto unreachable = row("unreachable", "");
    unreachable.spec = R"({"url":"ws://127.0.0.1:1/feed/x"})";
    open(std::move(unreachable));
    open(silent_row("silent"));
    ASSERT_TRUE(eventually([&] { return oracle("refused", "/refused") > 3; }));
    io_->abort(ConnectionId{"silent"}, Epoch{1});
    for (int i = 0; i < 10; ++i) {
        open(row("c" + std::to_string(i), replayed));
    }
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(eventually_data("c" + std::to_string(i), 1)) << i;
    }
    mend("refused");
    EXPECT_TRUE(eventually_data("refused", 1));
}

// Closes, aborts and new specs hit connections wherever they are: queued, granted, dialling, open, ending.
TEST_F(SharedLoopTest, PlacesAmongTheDialsSurviveAnyOrderAtAnyMoment) {
    start({.attempts_at_once = 1});
    Random random{7};
    fault("slow*", "status=503");
    std::uint64_t epoch = 0;
    for (int round = 0; round < 150; ++round) {
        ++epoch;
        for (const std::string id : {"a", "b", "slow"}) {
            open(row(id, replayed, epoch));
            if (random.unit() < 0.3) {
                settle();
            }
            const double what = random.unit();
            if (what < 0.4) {
                close(id, epoch);
            } else if (what < 0.7) {
                io_->abort(ConnectionId{id}, Epoch{epoch});
            } else {
                io_->update(row(id, std::string{replayed} + R"(,"headers":{"X-Key":"1"})", epoch, 2));
            }
        }
    }
    for (const std::string id : {"a", "b", "slow"}) {
        io_->abort(ConnectionId{id}, Epoch{epoch});
    }
    open(row("last", replayed));
    EXPECT_TRUE(eventually_data("last", 1)) << "the one place was given back each time";
}

TEST_F(SharedLoopTest, RefusalsAreNotAnsweredByATightLoop) {
    IoLoopOptions options;
    options.backoff.max = 400ms;
    start(options);
    fault("a", "status=503");
    const Instant before = clock_.now();
    open(row("a", replayed));
    ASSERT_TRUE(eventually([&] { return oracle("a", "/refused") >= 8; }));
    // 20, 40, 80, 160, 320, 400, 400 ms are the upper ends of the ranges.
    EXPECT_GT(clock_.now() - before, 150ms);
}

TEST_F(SharedLoopTest, OneThatOpensAndEndsWithoutAMessageIsDialledSlower) {
    start_mock({.rate = 0.001});
    IoLoopOptions options;
    options.backoff.max = 400ms;
    start(options);
    fault("a", "close=1001&times=0");
    const Instant before = clock_.now();
    open(row("a", ""));
    ASSERT_TRUE(eventually([&] { return sockets_of("a") >= 8; }));
    EXPECT_GT(clock_.now() - before, 150ms) << "its own gap records are no data";
    EXPECT_GE(sink_.count("a", RecordKind::gap), 6U);
}

TEST_F(SharedLoopTest, ASessionThatIsOverNeitherBlocksTheNextNorSharesABatchWithIt) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    sink_.hold();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 2; }));
    const auto former = rights_;
    const auto acked = sink_.seen("a").size();
    former->revoke();
    io_->abort_session(former->session);
    renew_rights("s2");
    auto next = row("a", replayed, 2);
    open(std::move(next));
    settle();
    const auto waiting = sink_.waiting();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > waiting + 2; })) << "the new one works meanwhile";
    EXPECT_EQ(connections("closing"), 1);

    sink_.release();
    ASSERT_TRUE(eventually_data("a", acked + 10));
    EXPECT_GT(sink_.revoked(), 0U);
    EXPECT_EQ(connections("closing"), 0);
    for (const auto& record : sink_.seen("a")) {
        EXPECT_EQ(record.session, SessionId{record.epoch == 1 ? "s1" : "s2"});
    }
    EXPECT_TRUE(closed().empty());
}

TEST_F(SharedLoopTest, ANewEpochOfTheSameSessionEndsTheFormer) {
    start();
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 5));
    open(row("a", replayed, 2));
    ASSERT_TRUE(eventually([&] { return sockets_of("a") == 2; }));
    ASSERT_TRUE(eventually_live("a", 1));
    close("a", 2);
    ASSERT_TRUE(eventually_closed());
    EXPECT_EQ(closed()[0].epoch, Epoch{2});
}

TEST_F(SharedLoopTest, StopEndsWhateverIsUnderWay) {
    start({.attempts_at_once = 2});
    open(silent_row("silent"));
    open(row("a", replayed));
    ASSERT_TRUE(eventually_data("a", 3));
    for (const auto* id : {"b", "c", "d"}) {
        open(silent_row(id));
    }
    fault("r", "status=503");
    open(row("r", replayed));
    sink_.hold();
    ASSERT_TRUE(eventually([&] { return sink_.waiting() > 0; }));
    io_->stop();
    sink_.release();
    io_->join();  // within the test's time
    EXPECT_EQ(io_->pending_records(), 0U);
}

TEST_F(SharedLoopTest, ManyConnectionsFillFewBatches) {
    start_mock({.rate = 50});
    start();
    for (int i = 0; i < 50; ++i) {
        open(row("c" + std::to_string(i), replayed));
    }
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(eventually_data("c" + std::to_string(i), 5)) << i;
    }
    for (int i = 0; i < 50; ++i) {
        close("c" + std::to_string(i));
    }
    ASSERT_TRUE(eventually_closed(50));
    for (const auto& told : closed()) {
        const auto records = sink_.seen(told.connection.text());
        EXPECT_EQ(told.cursor->ordinal, records.size()) << told.connection.text();
        EXPECT_EQ(told.cursor->value, records.back().seq);
    }
    EXPECT_EQ(metrics_.counter("longhold_records_total", {{"kind", "state"}}).value(), 50U);
}

}  // namespace
}  // namespace longhold::worker
