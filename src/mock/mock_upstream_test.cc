// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/clock.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sstream>

#include "mock_fixture.h"

namespace longhold::mock {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(MockUpstreamTest, CountsLiveMessagesFromOne) {
    start({.rate = 200});
    TestClient client{port()};
    EXPECT_THAT(client.upgrade("/feed/a"), HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    for (std::uint64_t seq = 1; seq <= 20; ++seq) {
        const auto frame = client.read_frame();
        ASSERT_TRUE(frame);
        EXPECT_EQ(frame->first_byte, 0x81U);
        EXPECT_FALSE(frame->masked);
        EXPECT_THAT(frame->payload, StartsWith("{\"seq\":" + std::to_string(seq) + ",\"sent_at\":\"20"));
        EXPECT_THAT(frame->payload, testing::EndsWith("Z\"}"));
    }
}

TEST_F(MockUpstreamTest, ReplaysFromTheCursorAndGoesOnLive) {
    start({.rate = 500});
    TestClient first{port()};
    first.upgrade("/feed/a");
    first.close();
    wait_for_head("a", 50);
    TestClient second{port()};
    second.upgrade("/feed/a?cursor=10");
    for (std::uint64_t seq = 11; seq <= 150; ++seq) {
        ASSERT_EQ(second.read_seq(), seq);
    }
    EXPECT_EQ(oracle("a", "/sockets/1/cursor"), 10);
    EXPECT_EQ(oracle("a", "/sockets/1/sent/0/first"), 11);
}

TEST_F(MockUpstreamTest, StartsLiveWithoutACursorOrWithOneBeyondTheHead) {
    start({.rate = 100, .all_from_start = true});
    TestClient first{port()};
    first.upgrade("/feed/a");
    wait_for_head("a", 20);
    for (const char* target : {"/feed/a", "/feed/a?cursor=1000000"}) {
        const auto head = static_cast<std::uint64_t>(oracle("a", "/streams/0/head"));
        TestClient client{port()};
        client.upgrade(target);
        EXPECT_GT(client.read_seq(), head);
    }
}

TEST_F(MockUpstreamTest, PadsMessagesToTheSizeAskedFor) {
    start({.rate = 100, .message_bytes = 1000});
    TestClient client{port()};
    client.upgrade("/feed/a");
    EXPECT_EQ(client.read_frame()->payload.size(), 1000U);
}

TEST_F(MockUpstreamTest, CarriesAHighRateOnOneSocket) {
    start({.rate = 100'000});
    TestClient client{port()};
    client.upgrade("/feed/a");
    const Instant begun = clock_.now();
    // Some may have become due between the request and its answer; without a cursor they are not sent.
    const std::uint64_t first = client.read_seq();
    ASSERT_GE(first, 1U);
    for (std::uint64_t seq = first + 1; seq <= first + 50'000; ++seq) {
        ASSERT_EQ(client.read_seq(), seq);
    }
    EXPECT_GE(clock_.now() - begun, 450ms) << "messages do not come before they are due";
}

TEST_F(MockUpstreamTest, AnswersPingsAndClose) {
    start({.rate = 0});
    TestClient client{port()};
    client.upgrade("/feed/a");
    client.send_frame(0x89, "hello");
    const auto pong = client.read_frame();
    ASSERT_TRUE(pong);
    EXPECT_EQ(pong->first_byte, 0x8aU);
    EXPECT_EQ(pong->payload, "hello");
    client.send_frame(0x01, "{\"a\":");
    client.send_frame(0x80, "1}");
    client.send_frame(0x88,
                      "\x03\xe8"
                      "bye");
    const auto close = client.read_frame();
    ASSERT_TRUE(close);
    EXPECT_EQ(close->first_byte, 0x88U);
    EXPECT_EQ(close->payload, "\x03\xe8");
    EXPECT_FALSE(client.read_frame());
    EXPECT_FALSE(client.was_reset());
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "client_close");
    EXPECT_EQ(oracle("a", "/sockets/0/pings"), 1);
    EXPECT_EQ(oracle_text("a", "/sockets/0/last_message"), "{\"a\":1}");
}

TEST_F(MockUpstreamTest, OracleKnowsIntervalsPortsAndWhatWasSent) {
    start({.rate = 200});
    TestClient first{port()};
    first.upgrade("/feed/a");
    const std::uint64_t begun = first.read_seq();
    ASSERT_GE(begun, 1U);
    EXPECT_EQ(oracle("a", "/live"), 1);
    EXPECT_EQ(oracle("a", "/sockets/0/closed_at_us"), -1);
    EXPECT_EQ(oracle("a", "/sockets/0/cursor"), -1);
    EXPECT_EQ(oracle("a", "/sockets/0/remote_port"), first.local_port());
    first.finish_sending();
    ASSERT_TRUE(eventually("a", "/sockets/0/how", "eof"));
    TestClient second{port()};
    second.upgrade("/feed/a?cursor=" + std::to_string(begun));
    ASSERT_EQ(second.read_seq(), begun + 1);
    second.close(true);
    ASSERT_TRUE(eventually("a", "/sockets/1/how", "reset"));
    EXPECT_EQ(oracle("a", "/live_max"), 1);
    EXPECT_EQ(oracle("a", "/live"), 0);
    EXPECT_LE(oracle("a", "/sockets/0/opened_at_us"), oracle("a", "/sockets/0/closed_at_us"));
    EXPECT_LE(oracle("a", "/sockets/0/closed_at_us"), oracle("a", "/sockets/1/opened_at_us"));
    const auto first_sent = oracle("a", "/sockets/1/sent/0/first");
    EXPECT_EQ(first_sent, static_cast<std::int64_t>(begun) + 1);
    EXPECT_EQ(oracle("a", "/sockets/1/sent/0/last") - first_sent + 1, oracle("a", "/sockets/1/sent/0/count"));
}

TEST_F(MockUpstreamTest, TwoLiveSocketsOfAnIdAreCountedAsTwo) {
    start({.rate = 0});
    TestClient first{port()};
    TestClient second{port()};
    first.upgrade("/feed/a");
    second.upgrade("/feed/a");
    EXPECT_EQ(oracle("a", "/live_max"), 2);
}

TEST_F(MockUpstreamTest, ASocketClosedByItsPeerIsNeverAnOverlap) {
    start({.rate = 1000});
    auto client = std::make_unique<TestClient>(port());
    client->upgrade("/feed/a");
    for (int i = 0; i < 300; ++i) {
        auto next = std::make_unique<TestClient>(port());
        client->close(i % 2 == 0);
        ASSERT_THAT(next->upgrade("/feed/a?cursor=0"), StartsWith("HTTP/1.1 101"));
        client = std::move(next);
    }
    EXPECT_EQ(oracle("a", "/live_max"), 1);
}

TEST_F(MockUpstreamTest, ASlowReaderCatchesUpAndCostsBoundedMemory) {
    start({.rate = 20'000, .message_bytes = 1000, .buffer_bytes_max = 32768, .send_buffer_bytes = 65536});
    TestClient client{port(), 65536};
    client.upgrade("/feed/a");
    wait_for_head("a", 4000);
    EXPECT_LT(oracle("a", "/sockets/0/sent/0/count"), 1000) << "what nobody takes is not made";
    for (std::uint64_t seq = 1; seq <= 5000; ++seq) {
        ASSERT_EQ(client.read_seq(), seq);
    }
    const std::int64_t most = server("/unsent_bytes_max");
    EXPECT_GT(most, 0);
    EXPECT_LE(most, 32768 + 1100);
}

TEST_F(MockUpstreamTest, RefusesWhatIsNoRequestOfIts) {
    start({});
    EXPECT_THAT(http(port(), "GET", "/nowhere"), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(http(port(), "GET", "/feed/a"), StartsWith("HTTP/1.1 426"));
    EXPECT_THAT(http(port(), "POST", "/oracle"), StartsWith("HTTP/1.1 405"));
    EXPECT_THAT(http(port(), "GET", "/oracle/a"), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(http(port(), "GET", "/livez"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(http(port(), "POST", "/faults/a?nonsense"),
                testing::AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("mute")));
    TestClient not_http{port()};
    not_http.send("\x16\x03\x01\r\n\r\n");
    EXPECT_THAT(not_http.read_all(), StartsWith("HTTP/1.1 400"));
    TestClient giant{port()};
    giant.send("GET /livez HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
    EXPECT_THAT(giant.read_all(), StartsWith("HTTP/1.1 431"));
    TestClient cursor{port()};
    EXPECT_THAT(cursor.upgrade("/feed/a?cursor=x"), StartsWith("HTTP/1.1 400"));
}

TEST_F(MockUpstreamTest, RefusesAnAddressThatIsInUseAndSaysSo) {
    start({});
    MockUpstream second{{.port = port()}, clock_};
    const auto started = second.start();
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error(), HasSubstr("127.0.0.1:" + std::to_string(port())));
}

TEST_F(MockUpstreamTest, TheCommandPrintsWhereItListensAndStopsWhenTold) {
    const int stop = ::eventfd(1, EFD_CLOEXEC);
    std::ostringstream out;
    std::ostringstream errors;
    EXPECT_EQ(run_mock_upstream({}, clock_, out, errors, stop), 0);
    EXPECT_THAT(out.str(), testing::MatchesRegex("listening on 127\\.0\\.0\\.1:[0-9]+\n"));
    EXPECT_EQ(run_mock_upstream({.address = "localhost"}, clock_, out, errors, stop), 2);
    EXPECT_THAT(errors.str(), HasSubstr("IPv4"));
    ::close(stop);
}

TEST_F(MockUpstreamTest, StopClosesEverySocketAndTheOracleStays) {
    start({.rate = 0});
    TestClient client{port()};
    client.upgrade("/feed/a");
    mock_->stop();
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->payload.substr(0, 2), "\x03\xe9");
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "server_stop");
}

struct BreachCase {
    std::string name;
    unsigned first_byte;
    std::string payload;
    bool masked;
    std::string code;  // of the close frame that answers
};

class MockUpstreamBreach : public MockUpstreamTest, public testing::WithParamInterface<BreachCase> {};

TEST_P(MockUpstreamBreach, IsAnsweredWithItsCloseCode) {
    start({.rate = 0});
    TestClient client{port()};
    client.upgrade("/feed/a");
    client.send_frame(GetParam().first_byte, GetParam().payload, GetParam().masked);
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->opcode(), 8U);
    EXPECT_EQ(frame->payload.substr(0, 2), GetParam().code);
    EXPECT_FALSE(client.read_frame());
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "protocol_error");
}

INSTANTIATE_TEST_SUITE_P(Table, MockUpstreamBreach,
                         testing::Values(BreachCase{"unmasked", 0x81, "x", false, "\x03\xea"},
                                         BreachCase{"reserved_bit", 0xc1, "x", true, "\x03\xea"},
                                         BreachCase{"unknown_opcode", 0x83, "x", true, "\x03\xea"},
                                         BreachCase{"fragmented_ping", 0x09, "x", true, "\x03\xea"},
                                         BreachCase{"long_ping", 0x89, std::string(126, 'x'), true, "\x03\xea"},
                                         BreachCase{"nothing_to_continue", 0x80, "x", true, "\x03\xea"},
                                         BreachCase{"text_not_utf8", 0x81, "\xc0\xaf", true, "\x03\xef"},
                                         BreachCase{"half_a_close_code", 0x88, "x", true, "\x03\xea"},
                                         BreachCase{"close_code_1005", 0x88, "\x03\xed", true, "\x03\xea"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace longhold::mock
