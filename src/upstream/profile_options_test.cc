// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/upstream/profile_options.h>

namespace longhold::upstream {
namespace {

using namespace std::chrono_literals;

config::ResolvedProfile resolved() {
    config::ResolvedProfile resolved{.url = "wss://feed.example/ws"};
    resolved.profile.headers = {{"X-Feed", "{connection_id}"}};
    resolved.profile.subprotocols = {"v2"};
    resolved.profile.sequence.field = "/seq";
    resolved.profile.resume.query = "since";
    resolved.profile.liveness = {.ping_every = 7s, .ping_timeout = 3s};
    resolved.profile.limits = {.frame_bytes = {100}, .message_bytes = {200}};
    resolved.profile.attempt_timeout = 4s;
    resolved.profile.close_timeout = 1s;
    resolved.profile.tls = {.verify = false, .ca_file = "ca.pem", .server_name = "other.example"};
    return resolved;
}

TEST(ProfileOptions, TakeEverythingFromTheProfile) {
    const auto options = options_for(resolved(), "btc", "17");
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(options->url.text(), "wss://feed.example/ws?since=17");
    EXPECT_EQ(options->headers, (Headers{{"X-Feed", "btc"}}));
    EXPECT_EQ(options->subprotocols, std::vector<std::string>{"v2"});
    EXPECT_EQ(options->tls, (TlsOptions{.verify = false, .ca_file = "ca.pem", .server_name = "other.example"}));
    EXPECT_EQ(options->frame_bytes_max, 100U);
    EXPECT_EQ(options->message_bytes_max, 200U);
    EXPECT_EQ(options->attempt_timeout, 4s);
    EXPECT_EQ(options->ping_every, 7s);
    EXPECT_EQ(options->pong_timeout, 3s);
    EXPECT_EQ(options->close_timeout, 1s);
}

TEST(ProfileOptions, SayWhyAUrlCannotBeDialled) {
    auto bad = resolved();
    bad.url = "http://feed.example/ws?token=secret";
    const auto options = options_for(bad, "btc", std::nullopt);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error(), "the scheme is http://; write ws:// instead");
}

}  // namespace
}  // namespace longhold::upstream
