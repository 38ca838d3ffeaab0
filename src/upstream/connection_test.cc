// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connection_rig.h"
#include "scripted_server.h"
#include "server_frames.h"

namespace longhold::upstream {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using End = Peer::End;

class ConnectionTest : public testing::Test {
protected:
    // A connection to `server`, with times that suit a test.
    Connection& connect(const ScriptedServer& server, auto change) {
        ConnectionOptions options = ConnectionRig::options(server.port());
        options.close_timeout = 5s;
        change(options);
        connection_.emplace(rig_.shared(), std::move(options));
        return *connection_;
    }

    Connection& connect(const ScriptedServer& server) {
        return connect(server, [](ConnectionOptions&) {});
    }

    Ended run() { return rig_.run(*connection_, receiver_); }

    ConnectionRig rig_;
    RecordingReceiver receiver_;
    std::optional<Connection> connection_;
};

TEST_F(ConnectionTest, SendsMessagesAndReceivesThem) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        const auto text = peer.read_frame();
        const auto bytes = peer.read_frame();
        peer.send(server_frame(0x81, std::to_string(text->opcode) + text->payload));
        peer.send(server_frame(0x81, std::to_string(bytes->opcode) + std::to_string(bytes->payload.size())));
        peer.send(server_close(1000));
        EXPECT_EQ(peer.read_frame()->payload, "\x03\xe8") << "the close is answered with its code";
    }};
    Connection& connection = connect(server);
    receiver_.when_open = [&] {
        EXPECT_TRUE(connection.send_text("hello"));
        EXPECT_TRUE(connection.send_binary(std::string(70'000, 'b')));
    };
    const Ended ended = run();
    EXPECT_EQ(ended.reason, EndReason::closed_by_peer);
    EXPECT_THAT(receiver_.messages, ElementsAre("1hello", "270000"));
    EXPECT_EQ(connection.traffic().messages_received, 2U);
    EXPECT_FALSE(connection.send_text("late"));
}

TEST_F(ConnectionTest, ClosesWithACodeAndDeliversWhatStillComes) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        const auto close = peer.read_frame();
        EXPECT_EQ(close->opcode, 8U);
        EXPECT_EQ(close->payload, "\x0f\xa0why");
        peer.send(server_frame(0x81, "in flight") + server_frame(0x88, close->payload));
    }};
    Connection& connection = connect(server);
    receiver_.when_open = [&] { connection.close(4000, "why"); };
    const Ended ended = run();
    EXPECT_EQ(ended.reason, EndReason::closed_by_us);
    EXPECT_EQ(ended.close_code, 4000);
    EXPECT_THAT(receiver_.messages, ElementsAre("in flight"));
}

TEST_F(ConnectionTest, ResetsAServerThatDoesNotAnswerTheClose) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    Connection& connection = connect(server, [](auto& options) { options.close_timeout = 50ms; });
    receiver_.when_open = [&] { connection.close(1000, ""); };
    const Ended ended = run();
    EXPECT_EQ(ended.reason, EndReason::closed_by_us);
    EXPECT_THAT(ended.detail, HasSubstr("not answered within 50ms"));
}

TEST_F(ConnectionTest, AbortResetsAtOnceAndSilencesTheReceiver) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "1") + server_frame(0x81, "2"));
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    Connection& connection = connect(server);
    receiver_.when_message = [&](const std::string&) {
        connection.abort();
        return true;
    };
    EXPECT_EQ(run().reason, EndReason::aborted);
    EXPECT_THAT(receiver_.messages, ElementsAre("1"));
    EXPECT_EQ(receiver_.bursts, 0);
}

TEST_F(ConnectionTest, EndsWhenTheAbortTableResetsItsSocket) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    connect(server);
    receiver_.when_open = [&] { EXPECT_EQ(rig_.table.abort_group(7), 1U); };
    EXPECT_EQ(run().reason, EndReason::transport_lost);
    EXPECT_EQ(rig_.table.size(), 0U);
}

TEST_F(ConnectionTest, DeliversWhatCameBeforeTheServerWentAway) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "1") + server_frame(0x81, "2") + server_frame(0x01, "half"));
    }};
    connect(server);
    const Ended ended = run();
    EXPECT_EQ(ended.reason, EndReason::transport_lost);
    EXPECT_THAT(ended.detail, HasSubstr("without a close frame"));
    EXPECT_THAT(receiver_.messages, ElementsAre("1", "2"));
    EXPECT_EQ(receiver_.bursts, 1);
}

TEST_F(ConnectionTest, EndsWhenTheServerResets) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.reset();
    }};
    connect(server);
    EXPECT_EQ(run().reason, EndReason::transport_lost);
}

struct ViolationCase {
    std::string_view name;
    std::string bytes;
    EndReason reason;
    std::string_view close_payload;
};

class ConnectionViolation : public ConnectionTest, public testing::WithParamInterface<ViolationCase> {};

TEST_P(ConnectionViolation, IsAnsweredWithItsCodeAfterWhatWasGood) {
    const auto& param = GetParam();
    const ScriptedServer server{[&](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "good") + param.bytes);
        const auto close = peer.read_frame();
        EXPECT_TRUE(close && close->opcode == 8U && close->payload == param.close_payload);
    }};
    connect(server, [](auto& options) { options.frame_bytes_max = options.message_bytes_max = 1'000; });
    const Ended ended = run();
    EXPECT_EQ(ended.reason, param.reason) << ended.detail;
    EXPECT_THAT(receiver_.messages, ElementsAre("good"));
    EXPECT_EQ(receiver_.bursts, 1);
}

INSTANTIATE_TEST_SUITE_P(Table, ConnectionViolation,
                         testing::Values(ViolationCase{"masked_frame",
                                                       "\x81\x81"
                                                       "abcdx",
                                                       EndReason::protocol_violation, "\x03\xea"},
                                         ViolationCase{"bad_utf8", server_frame(0x81, "\xff"),
                                                       EndReason::protocol_violation, "\x03\xef"},
                                         ViolationCase{"oversize", server_frame(0x81, std::string(1'001, 'x')),
                                                       EndReason::message_too_big, "\x03\xf1"}),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST_F(ConnectionTest, AnswersPings) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        for (const auto* text : {"", "are you there?"}) {
            peer.send(server_frame(0x89, text));
            const auto pong = peer.read_frame();
            EXPECT_EQ(pong->opcode, 10U);
            EXPECT_EQ(pong->payload, text);
        }
    }};
    connect(server);
    EXPECT_EQ(run().reason, EndReason::transport_lost);
}

TEST_F(ConnectionTest, PingsAQuietServerAndResetsAMuteOne) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        EXPECT_EQ(peer.read_frame()->opcode, 9U);
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    connect(server, [](auto& options) {
        options.ping_every = 40ms;
        options.pong_timeout = 60ms;
    });
    const Ended ended = run();
    EXPECT_EQ(ended.reason, EndReason::liveness_timeout);
    EXPECT_THAT(ended.detail, HasSubstr("60ms after a ping"));
}

TEST_F(ConnectionTest, TakesAnyByteForLife) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "three").substr(0, 2));
        for (const auto* byte : {"t", "h", "r", "e"}) {
            EXPECT_EQ(peer.read_frame()->opcode, 9U);
            peer.send(byte);  // instead of a pong
        }
        EXPECT_EQ(peer.read_frame()->opcode, 9U);
        peer.send("e" + server_close(1000));
        peer.wait_for_end();
    }};
    connect(server, [](auto& options) {
        options.ping_every = 30ms;
        options.pong_timeout = 5s;
        options.close_timeout = 50ms;
    });
    EXPECT_EQ(run().reason, EndReason::closed_by_peer);
    EXPECT_THAT(receiver_.messages, ElementsAre("three"));
}

TEST_F(ConnectionTest, KeepsWhatWasReadWhenTheReceiverStopsAndGoesOnLater) {
    constexpr int count = 5'000;
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        std::string all;
        for (int i = 0; i < count; ++i) {
            all += server_frame(0x81, "message " + std::to_string(i));
        }
        peer.send(all + server_close(1000));
    }};
    Connection& connection = connect(server);
    receiver_.when_message = [&](const std::string&) {
        if (receiver_.messages.size() % 3 != 0) {
            return true;
        }
        rig_.loop.post([&, seen = receiver_.messages.size()] {
            EXPECT_EQ(receiver_.messages.size(), seen) << "nothing is given while the receiver is stopped";
            connection.resume_reading();
        });
        return false;
    };
    EXPECT_EQ(run().reason, EndReason::closed_by_peer);
    ASSERT_EQ(receiver_.messages.size(), std::size_t{count});
    EXPECT_EQ(receiver_.messages.back(), "message 4999");
}

TEST_F(ConnectionTest, BoundsTheReceiversStopAndMakesNoVerdictOnLivenessMeanwhile) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "1") + server_frame(0x81, "2"));
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    connect(server, [](auto& options) {
        options.ping_every = 30ms;
        options.pong_timeout = 40ms;
    });
    receiver_.when_message = [](const std::string&) { return false; };
    const Instant start = rig_.clock.now();
    const Ended ended = run();
    EXPECT_GE(rig_.clock.now() - start, 70ms);
    EXPECT_EQ(ended.reason, EndReason::backpressure);
    EXPECT_THAT(ended.detail, HasSubstr("70ms"));
    EXPECT_THAT(receiver_.messages, ElementsAre("1"));
}

TEST_F(ConnectionTest, ClosesInTimeThoughTheReceiverHasStopped) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "1"));
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    Connection& connection = connect(server, [](auto& options) { options.close_timeout = 40ms; });
    receiver_.when_message = [&](const std::string&) {
        rig_.loop.post([&] { connection.close(1000, ""); });
        return false;
    };
    EXPECT_EQ(run().reason, EndReason::closed_by_us);
}

TEST_F(ConnectionTest, BoundsItsQueueAndPongsAheadOfIt) {
    std::size_t accepted = 0;
    const ScriptedServer server{[&](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x89, "now"));
        std::size_t before = 0;
        std::size_t after = 0;
        bool ponged = false;
        while (const auto frame = peer.read_frame()) {
            if (frame->opcode == 8) {
                break;
            }
            ponged = ponged || frame->opcode == 10;
            (ponged ? after : before) += frame->opcode == 2 ? 1 : 0;
        }
        EXPECT_TRUE(ponged);
        EXPECT_EQ(before + after, accepted);
        EXPECT_GT(after, before / 4) << "the pong overtook the queue";
    }};
    Connection& connection = connect(server, [](auto& options) {
        options.send_queue_bytes_max = 16U << 20U;
        options.close_timeout = 60s;  // the close goes out behind the queue
    });
    const std::string block(64'000, 'x');
    receiver_.when_open = [&] {
        while (connection.send_binary(block)) {
            ++accepted;
        }
        EXPECT_GE(accepted * block.size(), 15U << 20U);
        connection.close(1000, "");
    };
    EXPECT_EQ(run().reason, EndReason::closed_by_us);
}

// Takes the connection apart when it is told of its end.
struct EndingReceiver final : RecordingReceiver {
    explicit EndingReceiver(ConnectionRig& of) : rig(of) {}

    void on_ended(Ended what) override {
        connection.reset();
        ended.push_back(std::move(what));
        rig.loop.finish();
    }

    ConnectionRig& rig;
    std::optional<Connection> connection;
    std::vector<Ended> ended;
};

// Opens the receiver's connection to `server`, and runs the loop until the end of the attempt or of the connection.
std::optional<Ended> open_and_leave_alone(ConnectionRig& rig, EndingReceiver& receiver, const ScriptedServer& server) {
    receiver.connection.emplace(rig.shared(), ConnectionRig::options(server.port()));
    std::optional<Ended> failed;
    boost::asio::co_spawn(rig.loop.context(), receiver.connection->open(receiver),
                          [&](const std::exception_ptr&, std::optional<Ended> result) {
                              failed = std::move(result);
                              if (failed) {
                                  rig.loop.finish();
                              }
                          });
    rig.loop.run();
    return failed;
}

TEST_F(ConnectionTest, OnceOpenGoesOnWithoutATaskAndTellsItsEnd) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        peer.send(server_frame(0x81, "a"));
        peer.send(server_close(1001));
        EXPECT_EQ(peer.read_frame()->payload, "\x03\xe9");
    }};
    EndingReceiver receiver{rig_};
    EXPECT_FALSE(open_and_leave_alone(rig_, receiver, server));
    EXPECT_THAT(receiver.messages, ElementsAre("a"));
    ASSERT_EQ(receiver.ended.size(), 1U);
    EXPECT_EQ(receiver.ended.front().reason, EndReason::closed_by_peer);
    EXPECT_EQ(receiver.ended.front().close_code, 1001);
    EXPECT_EQ(rig_.table.size(), 0U);
}

TEST_F(ConnectionTest, ThatNeverOpenedTellsItOnlyToWhoDialled) {
    const ScriptedServer server{[](Peer& peer) { peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"); }};
    EndingReceiver receiver{rig_};
    const auto failed = open_and_leave_alone(rig_, receiver, server);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->http_status, 404);
    EXPECT_TRUE(receiver.ended.empty());
}

runtime::Task<> run_in_group(Connection& connection, Receiver& receiver) {
    const auto ended = co_await connection.run(receiver);
    ADD_FAILURE() << "ended by itself: " << ended.detail;
}

runtime::Task<> stop_when_open(runtime::TaskGroup& group, RecordingReceiver& receiver, runtime::Loop& loop) {
    while (!receiver.opened) {
        co_await runtime::yield(loop);
    }
    group.stop();
    co_await group.join();
    loop.finish();
}

TEST_F(ConnectionTest, IsResetByTheCancellationOfItsGroup) {
    const ScriptedServer server{[](Peer& peer) {
        peer.upgrade();
        EXPECT_EQ(peer.wait_for_end(), End::reset);
    }};
    Connection& connection = connect(server);
    runtime::TaskGroup group{rig_.loop};
    runtime::TaskGroup stopper{rig_.loop};
    group.spawn(run_in_group(connection, receiver_));
    stopper.spawn(stop_when_open(group, receiver_, rig_.loop));
    rig_.loop.run();
    EXPECT_EQ(rig_.table.size(), 0U);
    EXPECT_FALSE(connection.is_open());
}

}  // namespace
}  // namespace longhold::upstream
