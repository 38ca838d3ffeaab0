// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/config/byte_size.h>
#include <longhold/config/references.h>
#include <longhold/config/suggestion.h>
#include <longhold/config/text_template.h>
#include <longhold/config/upstream_url.h>

#include <array>

namespace longhold::config {
namespace {

TEST(ByteSize, ReadsAndWritesUnits) {
    EXPECT_EQ(parse_byte_size("64MiB")->bytes, 64 * mebibyte);
    EXPECT_EQ(parse_byte_size("500kB")->bytes, 500'000U);
    EXPECT_EQ(parse_byte_size("4096")->bytes, 4096U);
    EXPECT_EQ(parse_byte_size("1 GiB")->bytes, 1024 * mebibyte);
    for (const auto* const bad : {"", "MiB", "1.5MiB", "-1", "1mib", "99999999999999999999", "17179869184GiB"}) {
        EXPECT_FALSE(parse_byte_size(bad)) << bad;
    }
    for (const std::uint64_t bytes : {0ULL, 1ULL, 1000ULL, 1024ULL, 1536ULL, 3ULL << 30U}) {
        EXPECT_EQ(parse_byte_size(format_byte_size({bytes}))->bytes, bytes);
    }
    EXPECT_EQ(format_byte_size({64 * mebibyte}), "64MiB");
}

TEST(References, KeepAPlainDollarBrace) {
    ReferenceSources sources;
    sources.environment = {{"A", "1"}};
    EXPECT_EQ(resolve_references("x${env:A}y$${env:A}", sources).value(), "x1y${env:A}");
    EXPECT_FALSE(resolve_references("${vault:x}", sources));
    EXPECT_FALSE(resolve_references("${env:B}", sources));
    EXPECT_FALSE(resolve_references("${file:x}", sources));
    EXPECT_FALSE(check_references("${env:"));
    EXPECT_TRUE(check_references("{\"$\":{}}"));
}

TEST(Suggestion, FindsSlipsAndNothingFarOff) {
    const std::array<std::string, 3> words{"start", "stop", "delete"};
    EXPECT_EQ(nearest("satrt", words), "start");
    EXPECT_EQ(nearest("delte", words), "delete");
    EXPECT_EQ(nearest("frobnicate", words), std::nullopt);
    EXPECT_EQ(nearest("x", words), std::nullopt);
}

TEST(TextTemplate, TakesOnlyNamesInBracesForPlaceholders) {
    const TextTemplate text{R"({"a":{},"b":{ "c" :1},"d":{cursor},"e":"{x_1}","f":{"g":{cursor}}})"};
    EXPECT_THAT(text.names(), testing::ElementsAre("cursor", "x_1"));
    const auto lookup = [](std::string_view name) {
        return std::optional<std::string>{name == "cursor" ? "7" : "a\"b\n"};
    };
    EXPECT_EQ(text.render(lookup, Escaping::json), R"({"a":{},"b":{ "c" :1},"d":7,"e":"a\"b\n","f":{"g":7}})");
}

TEST(TextTemplate, QuotesInJsonWhatIsNoNumber) {
    const TextTemplate text{"[{v}]"};
    for (const auto& [value, want] :
         std::initializer_list<std::pair<std::string, std::string>>{{"7", "[7]"},
                                                                    {"-0.5e3", "[-0.5e3]"},
                                                                    {"007", "[\"007\"]"},
                                                                    {"1]", "[\"1]\"]"},
                                                                    {"", "[\"\"]"},
                                                                    {"true", "[\"true\"]"}}) {
        const auto lookup = [&value](std::string_view) { return std::optional{value}; };
        EXPECT_EQ(text.render(lookup, Escaping::json), want);
    }
}

TEST(TextTemplate, GivesNothingWithoutAValue) {
    const auto none = [](std::string_view) { return std::optional<std::string>{}; };
    EXPECT_EQ(TextTemplate{"a{b}"}.render(none, Escaping::none), std::nullopt);
    EXPECT_EQ(TextTemplate{"a{B}"}.render(none, Escaping::none), "a{B}");
}

TEST(UpstreamUrl, AcceptsWhatIsWellFormed) {
    for (const auto* const url :
         {"ws://h", "wss://h:443/p?q=1&r=%20", "ws://127.0.0.1:9001/feed/a", "ws://[::1]:80/"}) {
        EXPECT_TRUE(check_upstream_url(url)) << url;
    }
    for (const auto* const url : {"", "h", "ws:/h", "ws://", "ws://:80/", "ws://h:0/", "ws://h:/", "ws://[::1",
                                  "ws://[x]/", "ws://h/%2", "ws://h/\n", "WS://h@/", "ws://h i/"}) {
        EXPECT_FALSE(check_upstream_url(url)) << url;
    }
}

TEST(UpstreamUrl, SetsAndReplacesAQueryParameter) {
    EXPECT_EQ(with_query_parameter("ws://h/p", "c", "1 2"), "ws://h/p?c=1%202");
    EXPECT_EQ(with_query_parameter("ws://h/p?c=9&d=1", "c", "2"), "ws://h/p?d=1&c=2");
    EXPECT_EQ(with_query_parameter("ws://h/p?cc=9", "c", "2"), "ws://h/p?cc=9&c=2");
}

}  // namespace
}  // namespace longhold::config
