// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/upstream/url.h>

namespace longhold::upstream {
namespace {

struct GoodUrl {
    std::string_view text;
    Url want;
    std::string_view authority;
};

class UrlGood : public testing::TestWithParam<GoodUrl> {};

TEST_P(UrlGood, IsTakenApart) {
    const auto url = parse_url(GetParam().text);
    ASSERT_TRUE(url) << url.error();
    EXPECT_EQ(*url, GetParam().want) << url->text();
    EXPECT_EQ(url->authority(), GetParam().authority);
    EXPECT_EQ(parse_url(url->text()), *url);
}

INSTANTIATE_TEST_SUITE_P(
    Table, UrlGood,
    testing::Values(GoodUrl{"ws://example.com", {false, "example.com", false, 80, "/"}, "example.com"},
                    GoodUrl{"WSS://Example.COM/a?b=c", {true, "example.com", false, 443, "/a?b=c"}, "example.com"},
                    GoodUrl{"wss://example.com:80?x", {true, "example.com", false, 80, "/?x"}, "example.com:80"},
                    GoodUrl{"ws://127.0.0.1:8080/x", {false, "127.0.0.1", false, 8080, "/x"}, "127.0.0.1:8080"},
                    GoodUrl{"wss://[2001:DB8::1]:443/", {true, "2001:db8::1", true, 443, "/"}, "[2001:db8::1]"},
                    GoodUrl{"ws://[::1]:9/", {false, "::1", true, 9, "/"}, "[::1]:9"},
                    GoodUrl{"ws://a_b-c/@at", {false, "a_b-c", false, 80, "/@at"}, "a_b-c"}));

struct BadUrl {
    std::string_view text;
    std::string_view want;
};

class UrlBad : public testing::TestWithParam<BadUrl> {};

TEST_P(UrlBad, IsRefusedWithWhatToDo) {
    const auto url = parse_url(GetParam().text);
    ASSERT_FALSE(url);
    EXPECT_THAT(url.error(), testing::HasSubstr(std::string{GetParam().want}));
    EXPECT_THAT(url.error(), testing::Not(testing::HasSubstr("s3cret")));
}

INSTANTIATE_TEST_SUITE_P(
    Table, UrlBad,
    testing::Values(BadUrl{"", "begins with ws://"}, BadUrl{"example.com", "begins with ws://"},
                    BadUrl{"https://example.com", "write wss://"}, BadUrl{"ftp://example.com", "not one of ws://"},
                    BadUrl{"ws://", "host is missing"}, BadUrl{"ws:///path", "host is missing"},
                    BadUrl{"ws://user:s3cret@example.com/", "as headers"}, BadUrl{"ws://example.com/#top", "fragment"},
                    BadUrl{"ws://example.com#top", "fragment"}, BadUrl{"ws://example.com:0/", "port"},
                    BadUrl{"ws://example.com:65536/", "port"}, BadUrl{"ws://example.com:/", "port"},
                    BadUrl{"ws://example.com:80x/", "port"}, BadUrl{"ws://::1/", "brackets"},
                    BadUrl{"ws://[::1/", "closing bracket"}, BadUrl{"ws://[::zz]/", "not an IPv6 address"},
                    BadUrl{"ws://[::1]8080/", "only a port"}, BadUrl{"ws://ex ample/", "' '"},
                    BadUrl{"ws://b\xc3\xbc"
                           "cher.example/",
                           "xn--"},
                    BadUrl{"ws://a..b/", "empty part"}, BadUrl{"ws://example.com/a b?k=s3cret", "percent-encode"},
                    BadUrl{"ws://example.com/a\r\nX: y", "control character"}));

TEST(Url, AddsQueryParametersPercentEncoded) {
    Url url = *parse_url("ws://h/p");
    add_query_parameter(url, "cursor", "a b&c=\xe2\x82\xac");
    EXPECT_EQ(url.target, "/p?cursor=a%20b%26c%3D%E2%82%AC");
    add_query_parameter(url, "n", "1");
    EXPECT_EQ(url.target, "/p?cursor=a%20b%26c%3D%E2%82%AC&n=1");
    Url open = *parse_url("ws://h/p?");
    add_query_parameter(open, "n", "1");
    EXPECT_EQ(open.target, "/p?n=1");
}

}  // namespace
}  // namespace longhold::upstream
