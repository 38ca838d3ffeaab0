// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/tls1.h>
#include <unistd.h>

#include <fstream>

#include "connection_rig.h"
#include "scripted_server.h"
#include "server_frames.h"
#include "test_certificates.h"
#include "tls_context.h"

namespace longhold::upstream {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view names = "DNS:localhost,IP:127.0.0.1";

class Tls : public testing::Test {
protected:
    ~Tls() override { ::unlink(ca_file_.c_str()); }

    // One message over TLS from a server that shows `identity`; how the attempt ended.
    Ended visit(const TestIdentity& identity, TlsOptions options, const std::string& host = "127.0.0.1") {
        const TestTlsContext context = server_context(identity);
        return visit(context.get(), std::move(options), host);
    }

    Ended visit(SSL_CTX* context, TlsOptions options, const std::string& host = "127.0.0.1") {
        const ScriptedServer server{[&](Peer& peer) {
                                        if (!peer.secured()) {
                                            return;
                                        }
                                        peer.upgrade();
                                        peer.send(server_frame(0x81, "secret") + server_close(1000));
                                        peer.read_frame();
                                    },
                                    context};
        ConnectionOptions all = ConnectionRig::options(server.port(), "wss", host);
        all.tls = std::move(options);
        all.close_timeout = 100ms;
        Connection connection{rig_.shared(), all};
        return rig_.run(connection, receiver_);
    }

    void trust(const TestIdentity& identity) { std::ofstream{ca_file_} << pem(identity); }

    const TestIdentity authority_ = make_identity({.common_name = "Test Authority", .authority = true});
    const std::string ca_file_ = testing::TempDir() + "longhold-ca-" + std::to_string(::getpid()) + ".pem";
    ConnectionRig rig_;
    RecordingReceiver receiver_;
};

TEST_F(Tls, TrustsACertificateOfTheGivenAuthority) {
    trust(authority_);
    const auto identity =
        make_identity({.common_name = "server", .alternative_names = std::string{names}}, &authority_);
    const Ended ended = visit(identity, {.ca_file = ca_file_});
    EXPECT_EQ(ended.reason, EndReason::closed_by_peer) << ended.detail;
    EXPECT_THAT(receiver_.messages, ElementsAre("secret"));
}

TEST_F(Tls, VerifiesTheHostsName) {
    trust(authority_);
    const auto identity =
        make_identity({.common_name = "server", .alternative_names = std::string{names}}, &authority_);
    EXPECT_EQ(visit(identity, {.ca_file = ca_file_}, "localhost").reason, EndReason::closed_by_peer);
}

struct DistrustCase {
    std::string_view name;
    TestCertificateOptions certificate;
    std::string_view host;
    bool trusted;  // whether the authority is
    std::string_view want;
};

class TlsDistrust : public Tls, public testing::WithParamInterface<DistrustCase> {};

TEST_P(TlsDistrust, SaysWhyInWords) {
    const auto& param = GetParam();
    if (param.trusted) {
        trust(authority_);
    } else {
        trust(make_identity({.common_name = "Other", .authority = true}));
    }
    const auto identity = make_identity(param.certificate, &authority_);
    const Ended ended = visit(identity, {.ca_file = ca_file_}, std::string{param.host});
    EXPECT_EQ(ended.reason, EndReason::tls_failed);
    EXPECT_THAT(ended.detail, HasSubstr("certificate is not trusted"));
    EXPECT_THAT(ended.detail, HasSubstr(std::string{param.want}));
    EXPECT_FALSE(ended.opened);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TlsDistrust,
    testing::Values(DistrustCase{"expired",
                                 {"server", std::string{names}, false, -7'200, -3'600},
                                 "127.0.0.1",
                                 true,
                                 "certificate has expired"},
                    DistrustCase{"not_yet_valid",
                                 {"server", std::string{names}, false, 3'600, 7'200},
                                 "127.0.0.1",
                                 true,
                                 "certificate is not yet valid"},
                    DistrustCase{"wrong_host",
                                 {"server", "DNS:other.example"},
                                 "localhost",
                                 true,
                                 "host name mismatch (it is not for \"localhost\")"},
                    DistrustCase{"wrong_address", {"server", "IP:127.0.0.9"}, "127.0.0.1", true, "host name mismatch"},
                    DistrustCase{"unknown_authority",
                                 {"server", std::string{names}},
                                 "127.0.0.1",
                                 false,
                                 "unable to get local issuer certificate"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(TlsBuffers, AreFreedOnlyByReleasesThatDoItRightly) {
    for (const unsigned long good :
         {0x300000e0UL, 0x30100060UL, 0x30200020UL, 0x30300010UL, 0x30400000UL, 0x40000000UL}) {
        EXPECT_TRUE(can_free_buffers(good)) << std::hex << good;
    }
    for (const unsigned long bad :
         {0x1010117fUL, 0x30000000UL, 0x300000d0UL, 0x30100050UL, 0x30200010UL, 0x30300000UL}) {
        EXPECT_FALSE(can_free_buffers(bad)) << std::hex << bad;
    }
}

TEST_F(Tls, RefusesASelfSignedCertificateUnlessItIsTheTrustedOne) {
    const auto identity = make_identity({.common_name = "self", .alternative_names = std::string{names}});
    const Ended refused = visit(identity, {});
    EXPECT_EQ(refused.reason, EndReason::tls_failed);
    EXPECT_THAT(refused.detail, HasSubstr("self-signed certificate"));
    trust(identity);
    ConnectionRig second;
    const TestTlsContext context = server_context(identity);
    const ScriptedServer server{[](Peer& peer) { peer.upgrade(); }, context.get()};
    ConnectionOptions options = ConnectionRig::options(server.port(), "wss");
    options.tls.ca_file = ca_file_;
    Connection connection{second.shared(), options};
    EXPECT_TRUE(second.run(connection, receiver_).opened);
}

TEST_F(Tls, AcceptsAnythingOnlyWhenToldTo) {
    const auto identity = make_identity({.common_name = "self", .alternative_names = "DNS:other.example"});
    const Ended ended = visit(identity, {.verify = false});
    EXPECT_EQ(ended.reason, EndReason::closed_by_peer) << ended.detail;
}

TEST_F(Tls, AsksForAndVerifiesTheGivenName) {
    trust(authority_);
    const auto identity =
        make_identity({.common_name = "server", .alternative_names = "DNS:inside.example"}, &authority_);
    const Ended ended = visit(identity, {.ca_file = ca_file_, .server_name = "inside.example"});
    EXPECT_EQ(ended.reason, EndReason::closed_by_peer) << ended.detail;
}

TEST_F(Tls, TellsHowFarAnAttemptHasCome) {
    const auto identity = make_identity({.common_name = "server"});
    visit(identity, {.verify = false}, "localhost");
    ASSERT_GE(receiver_.stages.size(), 4U);
    EXPECT_EQ(receiver_.stages.front(), std::pair(Stage::resolving, std::string{"localhost"}));
    const auto& [connected, address] = receiver_.stages[receiver_.stages.size() - 2];
    EXPECT_EQ(connected, Stage::connected);
    EXPECT_THAT(address, HasSubstr(":"));
    const auto& [secured, agreed] = receiver_.stages.back();
    EXPECT_EQ(secured, Stage::secured);
    EXPECT_THAT(agreed, testing::MatchesRegex("TLSv1\\.[23], .+, certificate not verified"));
}

TEST_F(Tls, NamesACaFileThatCannotBeRead) {
    const auto identity = make_identity({.common_name = "self", .alternative_names = std::string{names}});
    const Ended ended = visit(identity, {.ca_file = "/no/such/file.pem"});
    EXPECT_EQ(ended.reason, EndReason::tls_failed);
    EXPECT_THAT(ended.detail, HasSubstr("ca_file \"/no/such/file.pem\""));
}

TEST_F(Tls, RefusesProtocolsBefore12) {
    const auto identity = make_identity({.common_name = "self", .alternative_names = std::string{names}});
    const TestTlsContext context = server_context(identity);
    ::SSL_CTX_set_security_level(context.get(), 0);
    ::SSL_CTX_set_max_proto_version(context.get(), TLS1_1_VERSION);
    const Ended ended = visit(context.get(), {.verify = false});
    EXPECT_EQ(ended.reason, EndReason::tls_failed);
    EXPECT_THAT(ended.detail, HasSubstr("the TLS handshake failed: "));
}

TEST_F(Tls, SaysThatTheServerSpeaksNoTls) {
    const ScriptedServer server{[](Peer& peer) { peer.send("HTTP/1.1 400 Bad Request\r\n\r\n"); }};
    Connection connection{rig_.shared(), ConnectionRig::options(server.port(), "wss")};
    const Ended ended = rig_.run(connection, receiver_);
    EXPECT_EQ(ended.reason, EndReason::tls_failed);
    EXPECT_THAT(ended.detail, HasSubstr("does the server speak TLS on this port?"));
}

TEST_F(Tls, CarriesMuchInBothDirectionsWithStopsOnTheWay) {
    constexpr int count = 3'000;
    const auto identity = make_identity({.common_name = "self", .alternative_names = std::string{names}});
    const TestTlsContext context = server_context(identity);
    const ScriptedServer server{[](Peer& peer) {
                                    peer.upgrade();
                                    EXPECT_EQ(peer.read_frame()->payload.size(), 900'000U);
                                    std::string all;
                                    for (int i = 0; i < count; ++i) {
                                        all += server_frame(0x81, std::to_string(i) + std::string(200, 'x'));
                                    }
                                    peer.send(all + server_close(1000));
                                    peer.read_frame();
                                },
                                context.get()};
    ConnectionOptions options = ConnectionRig::options(server.port(), "wss");
    options.tls.verify = false;
    options.close_timeout = 100ms;
    Connection connection{rig_.shared(), options};
    receiver_.when_open = [&] { EXPECT_TRUE(connection.send_binary(std::string(900'000, 'b'))); };
    receiver_.when_message = [&](const std::string&) {
        if (receiver_.messages.size() % 100 != 0) {
            return true;
        }
        rig_.loop.post([&] { connection.resume_reading(); });
        return false;
    };
    EXPECT_EQ(rig_.run(connection, receiver_).reason, EndReason::closed_by_peer);
    ASSERT_EQ(receiver_.messages.size(), std::size_t{count});
    EXPECT_THAT(receiver_.messages.back(), HasSubstr("2999x"));
}

}  // namespace
}  // namespace longhold::upstream
