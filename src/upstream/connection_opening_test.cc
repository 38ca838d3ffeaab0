// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection_rig.h"
#include "scripted_server.h"
#include "server_frames.h"

namespace longhold::upstream {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class ConnectionOpening : public testing::Test {
protected:
    Ended attempt(ConnectionOptions options) {
        Connection connection{rig_.shared(), std::move(options)};
        const Ended ended = rig_.run(connection, receiver_);
        EXPECT_EQ(rig_.table.size(), 0U) << "the socket has left the abort table";
        return ended;
    }

    Ended attempt_at(const ScriptedServer& server, Duration attempt_timeout = 5s) {
        ConnectionOptions options = ConnectionRig::options(server.port());
        options.attempt_timeout = attempt_timeout;
        return attempt(std::move(options));
    }

    ConnectionRig rig_;
    RecordingReceiver receiver_;
};

TEST_F(ConnectionOpening, SendsTheRequestAndGivesOutWhatCameWithTheAnswer) {
    std::string request;
    const ScriptedServer server{[&](Peer& peer) {
        request = peer.read_request();
        peer.send(switching_answer(request, "Sec-WebSocket-Protocol: v2\r\n") + server_frame(0x81, "first") +
                  server_frame(0x82, "second") + server_close(1001, "bye"));
        peer.wait_for_end();
    }};
    ConnectionOptions options = ConnectionRig::options(server.port());
    options.headers = {{"Authorization", "Bearer t"}};
    options.subprotocols = {"v1", "v2"};
    options.close_timeout = 50ms;
    const Ended ended = attempt(options);
    EXPECT_THAT(request,
                HasSubstr("GET /feed?x=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
    EXPECT_THAT(request, HasSubstr("Authorization: Bearer t\r\n"));
    EXPECT_THAT(receiver_.messages, ElementsAre("first", "second"));
    EXPECT_EQ(receiver_.bursts, 1);
    EXPECT_TRUE(ended.opened);
    EXPECT_EQ(ended.reason, EndReason::closed_by_peer);
    EXPECT_EQ(ended.close_code, 1001);
    EXPECT_EQ(ended.close_reason, "bye");
}

TEST_F(ConnectionOpening, ReadsAnAnswerThatComesByteByByte) {
    const ScriptedServer server{[](Peer& peer) {
        const std::string request = peer.read_request();
        peer.send_bytewise(switching_answer(request) + server_frame(0x81, "slow") + server_close(1000));
        peer.wait_for_end();
    }};
    ConnectionOptions options = ConnectionRig::options(server.port());
    options.close_timeout = 50ms;
    EXPECT_EQ(attempt(options).reason, EndReason::closed_by_peer);
    EXPECT_THAT(receiver_.messages, ElementsAre("slow"));
}

TEST_F(ConnectionOpening, ReachesAHostByName) {
    const ScriptedServer server{[](Peer& peer) { peer.upgrade(); }};
    const Ended ended = attempt(ConnectionRig::options(server.port(), "ws", "localhost"));
    EXPECT_TRUE(ended.opened) << ended.detail;
    EXPECT_EQ(ended.reason, EndReason::transport_lost);
}

struct RefusalCase {
    std::string_view name;
    std::string answer;
    int status;
    std::optional<Duration> retry_after;
    std::string_view body;
    std::string_view detail;
};

class ConnectionRefusal : public ConnectionOpening, public testing::WithParamInterface<RefusalCase> {};

TEST_P(ConnectionRefusal, KeepsWhatThePolicyNeeds) {
    const auto& param = GetParam();
    const ScriptedServer server{[&](Peer& peer) {
        peer.read_request();
        peer.send(param.answer);
        peer.wait_for_end();
    }};
    const Ended ended = attempt_at(server);
    EXPECT_EQ(ended.reason, EndReason::handshake_refused);
    EXPECT_EQ(ended.http_status, param.status);
    EXPECT_EQ(ended.retry_after, param.retry_after);
    EXPECT_EQ(ended.body, param.body);
    EXPECT_THAT(ended.detail, HasSubstr(std::string{param.detail}));
    EXPECT_FALSE(ended.opened);
    EXPECT_FALSE(receiver_.opened);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ConnectionRefusal,
    testing::Values(
        RefusalCase{
            "unauthorized", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\n\r\nwho", 401, {}, "who", "HTTP 401"},
        RefusalCase{"too_many", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 429,
                    7s, "", "HTTP 429"},
        RefusalCase{
            "login_page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", 200, {}, "<html>", "HTTP 200"},
        RefusalCase{"garbage", std::string{"\x15\x03\x01\x00\x02\x02\x46\x00", 8}, 0, {}, "", "does not speak HTTP/1"},
        RefusalCase{"wrong_accept",
                    "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
                    101,
                    {},
                    "",
                    "does not answer our key"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST_F(ConnectionOpening, EndsWhenTheServerEndsInsteadOfAnswering) {
    const ScriptedServer server{[](Peer& peer) { peer.read_request(); }};
    const Ended ended = attempt_at(server);
    EXPECT_EQ(ended.reason, EndReason::transport_lost);
    EXPECT_THAT(ended.detail, HasSubstr("before any answer"));
}

TEST_F(ConnectionOpening, EndsWhenTheServerResetsInsteadOfAnswering) {
    const ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.reset();
    }};
    const Ended ended = attempt_at(server);
    EXPECT_EQ(ended.reason, EndReason::transport_lost);
    EXPECT_THAT(ended.detail, HasSubstr("Connection reset by peer"));
}

TEST_F(ConnectionOpening, IsBoundedWhenTheServerNeverAnswers) {
    const ScriptedServer server{[](Peer& peer) { peer.wait_for_end(); }};
    const Ended ended = attempt_at(server, 60ms);
    EXPECT_EQ(ended.reason, EndReason::attempt_timed_out);
    EXPECT_THAT(ended.detail, HasSubstr("within the attempt's 60ms"));
}

TEST_F(ConnectionOpening, IsBoundedWhenNobodyAccepts) {
    const Listener listener{0};
    std::vector<int> fillers;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(listener.port());
    for (int i = 0; i < 4; ++i) {
        fillers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        ::connect(fillers.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    ConnectionOptions options = ConnectionRig::options(listener.port());
    options.attempt_timeout = 80ms;
    const Ended ended = attempt(options);
    EXPECT_EQ(ended.reason, EndReason::attempt_timed_out);
    EXPECT_THAT(ended.detail, HasSubstr("connecting to 127.0.0.1:"));
    for (const int filler : fillers) {
        ::close(filler);
    }
}

TEST_F(ConnectionOpening, SaysThatNobodyListens) {
    const std::uint16_t port = Listener{1}.port();
    const Ended ended = attempt(ConnectionRig::options(port));
    EXPECT_EQ(ended.reason, EndReason::connect_failed);
    EXPECT_THAT(ended.detail,
                HasSubstr("connecting to 127.0.0.1:" + std::to_string(port) + " failed: Connection refused"));
}

TEST_F(ConnectionOpening, SaysThatANameDoesNotResolve) {
    const Ended ended = attempt(ConnectionRig::options(80, "ws", "no-such-host.invalid"));
    EXPECT_EQ(ended.reason, EndReason::resolve_failed);
    EXPECT_THAT(ended.detail, HasSubstr("\"no-such-host.invalid\" does not resolve"));
}

TEST_F(ConnectionOpening, SaysThatAHeaderCannotBeSent) {
    ConnectionOptions options = ConnectionRig::options(1);
    options.headers = {{"X", "a\nb"}};
    EXPECT_THAT(attempt(options).detail, HasSubstr("the value of header \"X\" has a line break"));
}

TEST_F(ConnectionOpening, IsRefusedByAFullAbortTable) {
    const Listener listener{4};
    std::vector<runtime::AbortTable::Slot> slots;
    for (int i = 0; i < 8; ++i) {
        slots.push_back(rig_.table.enter(0, 1));
    }
    Connection connection{rig_.shared(), ConnectionRig::options(listener.port())};
    const Ended ended = rig_.run(connection, receiver_);
    EXPECT_EQ(ended.reason, EndReason::connect_failed);
    EXPECT_THAT(ended.detail, HasSubstr("abort table is full"));
    for (const auto slot : slots) {
        rig_.table.leave(slot);
    }
}

TEST_F(ConnectionOpening, CanBeGivenUpBeforeTheDial) {
    Connection connection{rig_.shared(), ConnectionRig::options(1)};
    connection.abort();
    EXPECT_EQ(rig_.run(connection, receiver_).reason, EndReason::aborted);
}

TEST_F(ConnectionOpening, CanBeGivenUpWhileTheAnswerIsAwaited) {
    Connection* at_work = nullptr;
    const ScriptedServer server{[&](Peer& peer) {
        peer.read_request();
        rig_.loop.post([&] { at_work->abort(); });
        EXPECT_EQ(peer.wait_for_end(), Peer::End::reset);
    }};
    Connection connection{rig_.shared(), ConnectionRig::options(server.port())};
    at_work = &connection;
    const Ended ended = rig_.run(connection, receiver_);
    EXPECT_EQ(ended.reason, EndReason::aborted);
    EXPECT_FALSE(ended.opened);
}

}  // namespace
}  // namespace longhold::upstream
