// SPDX-License-Identifier: Apache-2.0
// `profile try` against the mock upstream, and against servers that are no WebSocket servers.
#include <gmock/gmock.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/thread.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "printable.h"
#include "tools_fixture.h"

namespace longhold::app {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class ProfileTry : public Tools {
protected:
    // With a mock upstream that has these faults.
    void serve(const std::vector<std::string>& faults = {}) {
        mock::MockOptions options;
        options.rate = 500;
        options.all_from_start = true;
        for (const auto& fault : faults) {
            options.faults.push_back(*mock::parse_fault_rule(fault));
        }
        mock_ = std::make_unique<mock::MockUpstream>(options, clock_);
        const auto started = mock_->start();
        ASSERT_TRUE(started) << started.error();
    }

    [[nodiscard]] std::string url(const std::string& path, const std::string& scheme = "ws") const {
        return scheme + "://127.0.0.1:" + std::to_string(mock_->port()) + path;
    }

    Ran attempt(const std::string& path, std::vector<std::string> more = {}) {
        std::vector<std::string> words{"profile", "try", url(path)};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }

    std::unique_ptr<mock::MockUpstream> mock_;
};

TEST_F(ProfileTry, PrintsMessagesAndSaysWhatHappened) {
    serve();
    const auto ran = attempt("/feed/a", {"--set", "sequence.field=/seq", "--messages", "3"});
    EXPECT_EQ(ran.code, ExitCode::done) << ran.errors;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 3);
    EXPECT_THAT(ran.output, MatchesRegex("(\\{\"seq\":[0-9]+,\"sent_at\":\"[^\"]+\"\\}\n)+"));
    EXPECT_THAT(ran.errors, StartsWith("# connecting to 127.0.0.1:"));
    EXPECT_THAT(ran.errors, ContainsRegex("\n# connected to 127.0.0.1:[0-9]+ \\([0-9]+ ms\\)\n"
                                          "# upgraded: HTTP 101, no subprotocol \\([0-9]+ ms\\)\n"
                                          "# closed: --messages 3 reached; the server closed with 1000\n"
                                          "# 3 messages, [0-9]+ bytes in [0-9.]+ s \\([0-9.]+ per second\\); "
                                          "sequence [0-9]+ to [0-9]+, 0 gaps\n$"));
}

TEST_F(ProfileTry, EndsAfterSecondsAndWritesOneObjectPerMessage) {
    serve();
    const auto ran =
        attempt("/feed/a", {"--set", "sequence.field=/seq", "--seconds", "0.2", "-o", "ndjson", "--profile", "plain"});
    EXPECT_EQ(ran.code, ExitCode::done) << ran.errors;
    EXPECT_THAT(ran.output, MatchesRegex("(\\{\"received_at\":\"[^\"]+Z\",\"seq\":[0-9]+,\"size\":[0-9]+,"
                                         "\"data\":\"\\{\\\\\"seq\\\\\":[0-9]+,[^\n]*\\}\"\\}\n)+"));
    EXPECT_THAT(ran.errors, HasSubstr("# closed: --seconds 0.2 passed"));
}

TEST_F(ProfileTry, MarksBytesAsBase64) {
    serve({"a:binary"});
    EXPECT_THAT(attempt("/feed/a", {"--messages", "1"}).output, StartsWith("base64:eyJzZXEi"));
    EXPECT_THAT(attempt("/feed/a", {"--messages", "1", "-o", "ndjson"}).output,
                HasSubstr(",\"data_base64\":\"eyJzZXEi"));
}

TEST_F(ProfileTry, ResumesFromACursorAndSaysWhatIsMissing) {
    serve();
    ASSERT_EQ(attempt("/feed/a", {"--messages", "5"}).code, ExitCode::done) << "so that there is something to replay";
    const std::vector<std::string> sequence{"--set", "sequence.field=/seq", "--messages", "2", "--cursor", "1"};
    auto replayed = sequence;
    replayed.insert(replayed.end(), {"--set", "resume.query=cursor"});
    const auto resumed = attempt("/feed/a", replayed);
    EXPECT_THAT(resumed.output, StartsWith("{\"seq\":2,"));
    EXPECT_THAT(resumed.errors, AllOf(HasSubstr("# asked to resume from 1\n"), HasSubstr("sequence 2 to 3, 0 gaps\n")));
    auto ignored = sequence;
    ignored.insert(ignored.end(), {"--set", "resume.query=unheard-of"});
    EXPECT_THAT(attempt("/feed/a", ignored).errors,
                ContainsRegex("\n# gap: sequence_hole, from 2 to [0-9]+ \\([0-9]+ messages\\)\n(.*\n)*"
                              ".*, 1 gap \\([0-9]+ messages missing\\)\n$"));
}

TEST_F(ProfileTry, SaysThatTheNumberingBeganAnew) {
    serve({"a:restart_sequence,after=2"});
    const auto ran = attempt("/feed/a", {"--set", "sequence.field=/seq", "--messages", "10"});
    EXPECT_THAT(ran.errors,
                AllOf(HasSubstr("# sequence: the upstream began to count anew; stream 2\n"), HasSubstr(", 1 restart")));
}

TEST_F(ProfileTry, SendsOpeningMessages) {
    serve();
    const auto ran = attempt("/feed/a", {"--set", "open.send=[\"hello\",\"again\"]", "--messages", "1"});
    EXPECT_THAT(ran.errors, HasSubstr("\n# sent 2 opening messages, 10 bytes\n"));
}

TEST_F(ProfileTry, ClosesOnASignal) {
    serve();
    bool interrupted = false;
    const auto ran = run({"profile", "try", url("/feed/a")}, [&](const std::string&) {
        if (!std::exchange(interrupted, true)) {
            ::raise(SIGINT);
        }
    });
    EXPECT_EQ(ran.code, ExitCode::done);
    EXPECT_THAT(ran.errors, HasSubstr("# closed: interrupted"));
}

TEST_F(ProfileTry, ShowsARefusalInFull) {
    serve({"locked:status=401", "busy:status=503,retry_after=7"});
    const auto ran = attempt("/feed/locked?token=secret");
    EXPECT_EQ(ran.code, ExitCode::failed);
    EXPECT_EQ(ran.output, "");
    EXPECT_THAT(ran.errors,
                ContainsRegex("\n< HTTP 401\n(< [A-Za-z-]+: .*\n)+< \n(< .*\n)+longhold: the server refused the "
                              "upgrade with HTTP 401[^(]* \\(ws://127.0.0.1:[0-9]+/feed/locked\\): give credentials"));
    EXPECT_THAT(ran.errors, Not(HasSubstr("secret")));
    EXPECT_THAT(attempt("/feed/busy").errors, HasSubstr("): the server asks to wait for 7s\n"));
}

// One TCP connection to a server that says `answer` and ends it; what `profile try` makes of it.
class OneAnswer {
public:
    explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
        thread_.emplace("one-answer", [this] {
            const int peer = ::accept(listener_, nullptr, nullptr);
            std::array<char, 4096> request{};
            static_cast<void>(::read(peer, request.data(), request.size()));
            static_cast<void>(::write(peer, answer_.data(), answer_.size()));
            ::close(peer);
        });
    }

    ~OneAnswer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.reset();
        ::close(listener_);
    }

    OneAnswer(const OneAnswer&) = delete;
    OneAnswer& operator=(const OneAnswer&) = delete;

    [[nodiscard]] std::string port() const { return std::to_string(port_); }

private:
    std::string answer_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::optional<runtime::Thread> thread_;
};

TEST_F(ProfileTry, SaysThatAServerIsNoWebSocketServer) {
    const OneAnswer page{"HTTP/1.1 200 OK\r\nServer: \x1b[31mred\r\nContent-Length: 5\r\n\r\nhello"};
    const auto ran = run({"profile", "try", "ws://127.0.0.1:" + page.port() + "/"});
    EXPECT_EQ(ran.code, ExitCode::failed);
    EXPECT_THAT(ran.errors, AllOf(HasSubstr("\n< HTTP 200\n< Server: \\x1b[31mred\n< Content-Length: 5\n< \n< hello\n"),
                                  HasSubstr("): see that host, port and path name a WebSocket endpoint")));
    const OneAnswer mail{"220 mail.example ESMTP\r\n"};
    EXPECT_THAT(run({"profile", "try", "ws://127.0.0.1:" + mail.port() + "/"}).errors,
                HasSubstr("longhold: the server does not speak HTTP/1: its answer begins with"));
    EXPECT_THAT(run({"profile", "try", "wss://127.0.0.1:" + OneAnswer{"220 mail\r\n"}.port() + "/"}).errors,
                AllOf(HasSubstr("longhold: the TLS handshake failed"), HasSubstr("TLS")));
}

TEST_F(ProfileTry, SaysThatNobodyListens) {
    serve();
    const std::string there = url("/feed/a");
    mock_.reset();
    const auto ran = run({"profile", "try", there});
    EXPECT_EQ(ran.code, ExitCode::failed);
    EXPECT_THAT(ran.errors, ContainsRegex("\nlonghold: connecting to 127.0.0.1:[0-9]+ failed: Connection refused "
                                          "\\(ws://[^)]*\\): see that the server listens there"));
}

struct EndCase {
    std::string_view name, fault;
    ExitCode code;
    std::string_view want;
};

class ProfileTryEnd : public ProfileTry, public testing::WithParamInterface<EndCase> {};

TEST_P(ProfileTryEnd, IsToldAndSetsTheExitCode) {
    serve({"a:" + std::string{GetParam().fault}});
    const auto ran = attempt("/feed/a", {"--set", "limits.message_bytes=1KiB", "--set", "limits.frame_bytes=1KiB"});
    EXPECT_EQ(ran.code, GetParam().code) << ran.errors;
    EXPECT_THAT(ran.errors, AllOf(HasSubstr(GetParam().want), HasSubstr(" per second); gaps are not seen")));
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 2) << "what came before the end is printed";
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProfileTryEnd,
    testing::Values(
        EndCase{"normal_close", "close=1000,after=2", ExitCode::done, "# closed by the server: code 1000"},
        EndCase{"going_away", "close=1001,after=2", ExitCode::done, "# closed by the server: code 1001"},
        EndCase{"complaint", "close=4001,after=2", ExitCode::failed,
                "longhold: the server closed the connection with code 4001"},
        EndCase{"reset", "drop,after=2", ExitCode::failed, "): run this again; a worker would connect anew"},
        EndCase{"oversize", "oversize=5000,after=2", ExitCode::failed, "): allow more with --set limits.message_bytes"},
        EndCase{"garbage", "garbage=opcode,after=2", ExitCode::failed, "): tell the server's operator"}),
    [](const auto& test) { return std::string{test.param.name}; });

struct TryUsageCase {
    std::string_view name;
    std::vector<std::string> words;
    std::string_view want;
};

class ProfileTryUsage : public Tools, public testing::WithParamInterface<TryUsageCase> {};

TEST_P(ProfileTryUsage, IsExplained) {
    std::vector<std::string> words{"profile", "try"};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    const auto ran = run(words);
    EXPECT_EQ(ran.code, ExitCode::usage);
    EXPECT_THAT(ran.errors, HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProfileTryUsage,
    testing::Values(
        TryUsageCase{"no_url", {}, "URL is missing"}, TryUsageCase{"http_url", {"http://h/"}, "http"},
        TryUsageCase{"unknown_profile", {"ws://h/", "--profile", "plane"}, "did you mean plain?"},
        TryUsageCase{"unknown_key", {"ws://h/", "--set", "sequence.feld=/a"}, "did you mean sequence.field?"},
        TryUsageCase{"no_equals", {"ws://h/", "--set", "sequence.field"}, "(--set): write it like"},
        TryUsageCase{"no_messages", {"ws://h/", "--messages", "0"}, "\"0\" is no number that fits (--messages)"},
        TryUsageCase{"no_seconds", {"ws://h/", "--seconds", "soon"}, "\"soon\" is no number that fits (--seconds)"},
        TryUsageCase{"cursor_without_place", {"ws://h/", "--cursor", "5"}, "(--cursor): say how to resume"},
        TryUsageCase{"secret_without_value", {"ws://h/", "--set", "headers.A=${env:GONE}"}, "GONE"},
        TryUsageCase{"format", {"ws://h/", "-o", "table"}, "not one of text, ndjson"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(Printable, EscapesWhatCouldSteerATerminal) {
    EXPECT_EQ(printable("a\tb\n\x1b[2J\x7f é €"), "a\tb\n\\x1b[2J\\x7f é €");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
    EXPECT_EQ(printable("\xff\xc2"), "\\xff\\xc2");
}

}  // namespace
}  // namespace longhold::app
