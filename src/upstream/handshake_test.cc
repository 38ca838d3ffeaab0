// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/upstream/handshake.h>

namespace longhold::upstream {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using State = HandshakeReader::State;

constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";  // RFC 6455, section 1.3
constexpr std::string_view accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

std::string switching(std::string_view more = "", std::string_view connection = "Upgrade") {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: " + std::string{connection} +
           "\r\nSec-WebSocket-Accept: " + std::string{accept} + "\r\n" + std::string{more} + "\r\n";
}

struct Read {
    State state;
    HandshakeAnswer answer;
    std::string leftover;
};

// Feeds `text` in pieces; what is left over when it ends.
Read read(std::string_view text, std::size_t piece, std::vector<std::string> subprotocols = {}, bool required = true) {
    HandshakeReader reader{std::string{key}, std::move(subprotocols), required};
    State state = State::need_more;
    std::size_t at = 0;
    while (state == State::need_more && at < text.size()) {
        state = reader.feed(text.substr(at, piece));
        at += reader.used();
    }
    return {state, reader.answer(), std::string{text.substr(at)}};
}

TEST(HandshakeRequest, HasWhatTheStandardAsksFor) {
    SeededEntropy entropy{1};
    const auto request = build_request(*parse_url("ws://example.com:8080/feed?x=1"), {{"Authorization", "Bearer t"}},
                                       {"a", "b"}, entropy);
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request->key.size(), 24U);
    EXPECT_EQ(request->bytes,
              "GET /feed?x=1 HTTP/1.1\r\nHost: example.com:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
                  request->key + "\r\nSec-WebSocket-Protocol: a, b\r\nAuthorization: Bearer t\r\n\r\n");
    const auto second = build_request(*parse_url("wss://example.com"), {}, {}, entropy);
    EXPECT_NE(second->key, request->key);
    EXPECT_THAT(second->bytes, HasSubstr("Host: example.com\r\n"));
}

TEST(HandshakeRequest, RefusesHeadersThatWouldBreakIt) {
    SeededEntropy entropy{1};
    const Url url = *parse_url("ws://h");
    EXPECT_THAT(build_request(url, {{"X", "a\r\nY: b"}}, {}, entropy).error(), HasSubstr("\"X\" has a line break"));
    EXPECT_THAT(build_request(url, {{"a b", "c"}}, {}, entropy).error(), HasSubstr("not a token"));
    EXPECT_THAT(build_request(url, {{"HOST", "c"}}, {}, entropy).error(), HasSubstr("set by the handshake"));
    EXPECT_THAT(build_request(url, {}, {"a,b"}, entropy).error(), HasSubstr("subprotocol"));
}

TEST(HandshakeAccept, MatchesTheExampleOfTheStandard) {
    EXPECT_EQ(accept_for(key), accept);
}

struct AcceptedCase {
    std::string_view name;
    std::string text;
};

class HandshakeAccepted : public testing::TestWithParam<AcceptedCase> {};

TEST_P(HandshakeAccepted, LeavesTheFramesToTheDecoder) {
    const std::string text = GetParam().text + "\x81\x02hi";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        const Read got = read(text, piece, {"v1", "v2"}, false);
        ASSERT_EQ(got.state, State::accepted) << got.answer.detail;
        ASSERT_EQ(got.leftover, "\x81\x02hi");
        ASSERT_EQ(got.answer.status, 101);
    }
}

INSTANTIATE_TEST_SUITE_P(Table, HandshakeAccepted,
                         testing::Values(AcceptedCase{"plain", switching()},
                                         AcceptedCase{"token_list", switching("", "keep-alive, UPGRADE")},
                                         AcceptedCase{"two_connection_headers",
                                                      switching("Connection: keep-alive\r\n")},
                                         AcceptedCase{"subprotocol", switching("sec-websocket-protocol: v2\r\n")},
                                         AcceptedCase{"empty_extensions", switching("Sec-WebSocket-Extensions:\r\n")},
                                         AcceptedCase{"after_an_interim_answer",
                                                      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + switching()},
                                         AcceptedCase{"bare_line_feeds",
                                                      "HTTP/1.1 101 \nupgrade:WebSocket\nconnection:upgrade\n"
                                                      "sec-websocket-accept:" +
                                                          std::string{accept} + "\n\n"}),
                         [](const auto& test) { return std::string{test.param.name}; });

struct RefusedCase {
    std::string_view name;
    std::string text;
    int status;
    std::string_view detail;
};

class HandshakeRefused : public testing::TestWithParam<RefusedCase> {};

TEST_P(HandshakeRefused, SaysWhyHoweverItArrives) {
    const auto& param = GetParam();
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, param.text.size()}) {
        const Read got = read(param.text, piece, {"v1"});
        ASSERT_EQ(got.state, State::refused);
        EXPECT_EQ(got.answer.status, param.status);
        EXPECT_THAT(got.answer.detail, HasSubstr(std::string{param.detail}));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, HandshakeRefused,
    testing::Values(
        RefusedCase{"unauthorized", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno", 401, "HTTP 401"},
        RefusedCase{"no_content", "HTTP/1.0 204\r\n\r\n", 204, "HTTP 204"},
        RefusedCase{"chunked", "HTTP/1.1 429 Slow\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 429,
                    "429"},
        RefusedCase{"another_protocol", "SSH-2.0-OpenSSH_9.2\r\n", 0, "does not speak HTTP/1"},
        RefusedCase{"rubbish_after_an_interim_answer", "HTTP/1.1 103 E\r\n\r\n*HTTP/1.1 503 Busy\r\n\r\n", 0, "HTTP/1"},
        RefusedCase{"broken_status", "HTTP/1.1 1x1 Odd\r\n\r\n", 0, "not HTTP/1's"},
        RefusedCase{"broken_header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", 200, "not a header"},
        RefusedCase{"endless_head", "HTTP/1.1 200 OK\r\nX: " + std::string(17'000, 'x'), 0, "over 16384 bytes"},
        RefusedCase{"no_upgrade", "HTTP/1.1 101 S\r\nConnection: Upgrade\r\n\r\n", 101, "does not upgrade"},
        RefusedCase{"no_connection", switching("", "close"), 101, "Connection: Upgrade"},
        RefusedCase{"no_accept", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 101,
                    "has no Sec-"},
        RefusedCase{"wrong_accept",
                    "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
                    101, "does not answer our key"},
        RefusedCase{"extension", switching("Sec-WebSocket-Extensions: permessage-deflate\r\n"), 101,
                    "permessage-deflate"},
        RefusedCase{"foreign_subprotocol", switching("Sec-WebSocket-Protocol: v9\r\n"), 101, "not offered: \"v9\""},
        RefusedCase{"no_subprotocol", switching(), 101, "none of the subprotocols"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(HandshakeReader, KeepsTheFirstBytesOfARefusalsBody) {
    const Read got =
        read("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n" + std::string(600, 'h'), 100);
    ASSERT_EQ(got.state, State::refused);
    EXPECT_EQ(got.answer.body, std::string(512, 'h'));
    EXPECT_EQ(find_header(got.answer.headers, "CONTENT-type"), "text/html");
}

TEST(HandshakeReader, TakesTheChunksOffABody) {
    const Read got =
        read("HTTP/1.1 429 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", 1);
    EXPECT_EQ(got.answer.body, "abcde");
}

TEST(HandshakeReader, EndsABodyWithoutALengthAtTheEndOfTheConnection) {
    HandshakeReader reader{std::string{key}, {}, true};
    EXPECT_EQ(reader.feed("HTTP/1.1 503 Busy\r\n\r\nsorry"), State::need_more);
    EXPECT_TRUE(reader.reading_body());
    EXPECT_EQ(reader.finish("the connection ended"), State::refused);
    EXPECT_EQ(reader.answer().body, "sorry");
    EXPECT_EQ(reader.answer().detail, "the server refused the upgrade with HTTP 503 \"Busy\"");
}

TEST(HandshakeReader, SaysWhereTheConnectionEnded) {
    HandshakeReader reader{std::string{key}, {}, true};
    EXPECT_EQ(reader.finish("the connection ended"), State::refused);
    EXPECT_EQ(reader.answer().detail, "the connection ended before any answer to the upgrade request");
}

struct RetryCase {
    std::string_view value;
    std::optional<Duration> want;
};

class RetryAfter : public testing::TestWithParam<RetryCase> {};

TEST_P(RetryAfter, IsReadInEveryForm) {
    const WallTime now{std::chrono::sys_days{std::chrono::year{1994} / 11 / 6} + 8h + 49min + 7s};
    EXPECT_EQ(retry_after({{"retry-after", std::string{GetParam().value}}}, now, 1h), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RetryAfter,
    testing::Values(RetryCase{"0", 0s}, RetryCase{"120", 120s}, RetryCase{"86400", 1h},
                    RetryCase{"99999999999999999999", 1h}, RetryCase{"Sun, 06 Nov 1994 08:49:37 GMT", 30s},
                    RetryCase{"Sunday, 06-Nov-94 08:49:37 GMT", 30s}, RetryCase{"Sun Nov  6 08:49:37 1994", 30s},
                    RetryCase{"Sun, 06 Nov 1994 08:00:00 GMT", 0s}, RetryCase{"Fri, 31 Dec 9999 23:59:59 GMT", 1h},
                    RetryCase{"Sun, 31 Feb 1994 08:49:37 GMT", std::nullopt}, RetryCase{"-5", std::nullopt},
                    RetryCase{"soon", std::nullopt}, RetryCase{"", std::nullopt}));

TEST(RetryAfterAbsent, IsNothingWithoutTheHeader) {
    EXPECT_EQ(retry_after({}, WallTime{}, 1h), std::nullopt);
}

}  // namespace
}  // namespace longhold::upstream
