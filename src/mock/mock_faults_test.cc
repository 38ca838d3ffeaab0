// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mock_fixture.h"

namespace longhold::mock {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MockFaultsTest : public MockUpstreamTest {
protected:
    void start_with(const std::string& rule, double rate = 200) {
        const auto read = parse_fault_rule(rule);
        ASSERT_TRUE(read) << read.error();
        start({.rate = rate, .faults = {*read}});
    }
};

TEST_F(MockFaultsTest, MuteSendsNothingAndAnswersNoPing) {
    start_with("a*:mute,after=3");
    TestClient client{port()};
    client.upgrade("/feed/abc");
    EXPECT_EQ(client.read_seq(), 1U);
    EXPECT_EQ(client.read_seq(), 2U);
    EXPECT_EQ(client.read_seq(), 3U);
    client.send_frame(0x89, "x");
    EXPECT_TRUE(client.is_silent_for(100));
    EXPECT_EQ(mock_->control("DELETE", "/faults/abc?mute").status, 200);
    EXPECT_EQ(client.read_seq(), 4U);
}

TEST_F(MockFaultsTest, OnlyMatchingIdsAreStruck) {
    start_with("a*:mute");
    TestClient client{port()};
    client.upgrade("/feed/b");
    EXPECT_EQ(client.read_seq(), 1U);
}

TEST_F(MockFaultsTest, CloseSendsItsCodeAndTheNextSocketIsSpared) {
    start_with("*:close=1012,after=2");
    TestClient client{port()};
    client.upgrade("/feed/a");
    client.read_seq();
    client.read_seq();
    const auto frame = client.read_frame();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->opcode(), 8U);
    EXPECT_EQ(frame->payload.substr(0, 2), "\x03\xf4");
    client.send_frame(0x88, "\x03\xf4");
    EXPECT_FALSE(client.read_frame());
    EXPECT_FALSE(client.was_reset());
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "server_close");
    TestClient next{port()};
    next.upgrade("/feed/a?cursor=2");
    for (std::uint64_t seq = 3; seq < 10; ++seq) {
        EXPECT_EQ(next.read_seq(), seq);
    }
}

TEST_F(MockFaultsTest, CloseEndsBySelfWhenThePeerDoesNotAnswer) {
    start({.rate = 0, .close_wait = 50ms});
    TestClient client{port()};
    client.upgrade("/feed/a");
    ASSERT_EQ(set_fault("a", "close=4000"), 200);
    EXPECT_TRUE(eventually("a", "/sockets/0/how", "server_close"));
}

TEST_F(MockFaultsTest, StatusRefusesSoManyUpgradesWithRetryAfter) {
    start_with("*:status=503,retry_after=7,times=2");
    for (int i = 0; i < 2; ++i) {
        TestClient client{port()};
        EXPECT_THAT(client.upgrade("/feed/a"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 7\r\n")));
    }
    TestClient client{port()};
    EXPECT_THAT(client.upgrade("/feed/a"), StartsWith("HTTP/1.1 101 "));
    EXPECT_EQ(oracle("a", "/refused"), 2);
}

TEST_F(MockFaultsTest, StatusWithoutTimesHoldsUntilItIsDeleted) {
    start_with("*:status=401");
    for (int i = 0; i < 5; ++i) {
        TestClient client{port()};
        EXPECT_THAT(client.upgrade("/feed/a"), AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("Retry-After"))));
    }
    EXPECT_THAT(http(port(), "DELETE", "/faults/%2A"), StartsWith("HTTP/1.1 200 "));
    TestClient client{port()};
    EXPECT_THAT(client.upgrade("/feed/a"), StartsWith("HTTP/1.1 101 "));
    TestClient other{port()};
    EXPECT_THAT(other.upgrade("/feed/new"), StartsWith("HTTP/1.1 101 ")) << "the rule is gone for new ids too";
}

TEST_F(MockFaultsTest, SlowKeepsToItsBytesPerSecond) {
    start_with("*:slow=2000", 1000);
    const Instant begun = clock_.now();
    TestClient client{port()};
    client.upgrade("/feed/a");
    for (std::uint64_t seq = 1; seq <= 20; ++seq) {
        ASSERT_EQ(client.read_seq(), seq);
    }
    EXPECT_GT(clock_.now() - begun, 400ms) << "20 frames of 51 bytes and the head, of which 200 bytes may come at once";
}

TEST_F(MockFaultsTest, OneByteAtATimeLosesNothing) {
    start_with("*:one_byte", 500);
    TestClient client{port()};
    client.upgrade("/feed/a");
    for (std::uint64_t seq = 1; seq <= 100; ++seq) {
        ASSERT_EQ(client.read_seq(), seq);
    }
}

TEST_F(MockFaultsTest, DropResetsTheLiveSocket) {
    start({.rate = 0});
    TestClient client{port()};
    client.upgrade("/feed/a");
    ASSERT_EQ(set_fault("a", "drop"), 200);
    EXPECT_FALSE(client.read_frame());
    EXPECT_TRUE(client.was_reset());
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "dropped");
}

TEST_F(MockFaultsTest, HalfOpenDoesNothingButSeesThePeerGo) {
    start({.rate = 1000});
    auto client = std::make_unique<TestClient>(port());
    client->upgrade("/feed/a");
    client->read_seq();
    ASSERT_EQ(set_fault("a", "half_open"), 200);
    const auto count = oracle("a", "/sockets/0/sent/0/count");
    client->send_frame(0x89, "x");
    wait_for_head("a", oracle("a", "/streams/0/head") + 20);
    EXPECT_EQ(oracle("a", "/sockets/0/sent/0/count"), count);
    EXPECT_EQ(oracle("a", "/sockets/0/pings"), 0);
    EXPECT_EQ(oracle("a", "/live"), 1);
    client.reset();
    TestClient next{port()};
    next.upgrade("/feed/a");
    EXPECT_EQ(oracle("a", "/live_max"), 1);
}

TEST_F(MockFaultsTest, RefuseSecondAnswers409WhileTheFirstLives) {
    start_with("*:refuse_second");
    auto first = std::make_unique<TestClient>(port());
    EXPECT_THAT(first->upgrade("/feed/a"), StartsWith("HTTP/1.1 101 "));
    TestClient second{port()};
    EXPECT_THAT(second.upgrade("/feed/a"), StartsWith("HTTP/1.1 409 "));
    first.reset();
    TestClient third{port()};
    EXPECT_THAT(third.upgrade("/feed/a"), StartsWith("HTTP/1.1 101 "));
    EXPECT_EQ(oracle("a", "/live_max"), 1);
}

TEST_F(MockFaultsTest, RestartInPlaceSendsTheRestAndThenBeginsAtOne) {
    start({.rate = 500});
    TestClient client{port()};
    client.upgrade("/feed/a");
    const std::uint64_t begun = client.read_seq();
    ASSERT_GE(begun, 1U);
    wait_for_head("a", 20);
    ASSERT_EQ(set_fault("a", "restart_sequence"), 200);
    const auto head = static_cast<std::uint64_t>(oracle("a", "/streams/0/head"));
    for (std::uint64_t seq = begun + 1; seq <= head; ++seq) {
        ASSERT_EQ(client.read_seq(), seq);
    }
    EXPECT_EQ(client.read_seq(), 1U);
    EXPECT_EQ(client.read_seq(), 2U);
    EXPECT_EQ(oracle("a", "/sockets/0/sent/1/stream"), 2);
    EXPECT_EQ(oracle("a", "/sockets/0/sent/0/last"), static_cast<std::int64_t>(head));
    EXPECT_EQ(oracle("a", "/streams/0/ended_at_us"), oracle("a", "/streams/1/started_at_us"));
}

TEST_F(MockFaultsTest, RestartWithDropResetsSocketsAndNumbersAnew) {
    start({.rate = 500});
    TestClient client{port()};
    client.upgrade("/feed/a");
    wait_for_head("a", 20);
    ASSERT_EQ(set_fault("a", "restart_sequence=drop"), 200);
    EXPECT_EQ(oracle_text("a", "/sockets/0/how"), "dropped");
    TestClient next{port()};
    next.upgrade("/feed/a?cursor=0");
    EXPECT_EQ(next.read_seq(), 1U);
    EXPECT_EQ(oracle("a", "/sockets/1/sent/0/stream"), 2);
}

struct GarbageCase {
    std::string name;
    std::string bytes;  // of the frame's head
};

class MockGarbage : public MockFaultsTest, public testing::WithParamInterface<GarbageCase> {};

TEST_P(MockGarbage, IsSentAsItIs) {
    start_with("*:garbage=" + GetParam().name, 0);
    TestClient client{port()};
    client.upgrade("/feed/a");
    mock_->stop();
    EXPECT_THAT(client.read_all(), StartsWith(GetParam().bytes));
}

INSTANTIATE_TEST_SUITE_P(Table, MockGarbage,
                         testing::Values(GarbageCase{"reserved_bit", "\xc1\x02"}, GarbageCase{"opcode", "\x83\x02"},
                                         GarbageCase{"masked", "\x81\x82"}, GarbageCase{"text", "\x81\x02\xc3\x28"},
                                         GarbageCase{"long_ping", "\x89\x7e"}),
                         [](const auto& test) { return test.param.name; });

TEST_F(MockFaultsTest, OversizeMakesOneMessageOfThatSize) {
    start_with("*:oversize=3000000,after=1");
    TestClient client{port()};
    client.upgrade("/feed/a");
    EXPECT_EQ(client.read_seq(), 1U);
    EXPECT_EQ(client.read_frame()->payload.size(), 3'000'000U);
    EXPECT_EQ(client.read_seq(), 3U);
}

TEST_F(MockFaultsTest, BinarySendsBinaryMessages) {
    start_with("*:binary");
    TestClient client{port()};
    client.upgrade("/feed/a");
    EXPECT_EQ(client.read_frame()->first_byte, 0x82U);
}

TEST(FaultText, SaysWhatIsWrong) {
    for (const auto& [rule, wanted] :
         std::vector<std::pair<std::string, std::string>>{{"mute", "'id-glob:name=value"},
                                                          {"*:", "no fault is named"},
                                                          {"*:mut", "unknown fault \"mut\""},
                                                          {"*:close=99", "from 1000 to 4999"},
                                                          {"*:mute=1", "takes no value"},
                                                          {"*:mute,times=2", "times does not apply to the fault mute"},
                                                          {"*:drop,retry_after=2", "retry_after does not apply"},
                                                          {"*:times=2", "must stand behind"},
                                                          {"*:garbage=what", "one of reserved_bit"},
                                                          {"*:slow=0", "from 1 to"}}) {
        const auto read = parse_fault_rule(rule);
        ASSERT_FALSE(read) << rule;
        EXPECT_THAT(read.error(), HasSubstr(wanted)) << rule;
    }
}

TEST(FaultText, ReadsFaultsWithTheirModifiers) {
    const auto read = parse_fault_rule("ws:a-*:status=503,retry_after=3,times=2,drop,after=9");
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->glob, "ws:a-*");
    EXPECT_THAT(read->faults,
                testing::ElementsAre(Fault{.kind = FaultKind::status, .value = 503, .times = 2, .retry_after = 3},
                                     Fault{.kind = FaultKind::drop, .after = 9}));
}

TEST(FaultText, GlobsMatchWholeIds) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("a*c?e", "abbbcde"));
    EXPECT_TRUE(matches("*-1*", "x-1-12"));
    EXPECT_FALSE(matches("a", "ab"));
    EXPECT_FALSE(matches("a?", "a"));
    EXPECT_FALSE(matches("*b", "abc"));
}

}  // namespace
}  // namespace longhold::mock
