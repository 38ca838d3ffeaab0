// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/config/profile.h>

namespace longhold::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problems_of(std::string_view toml) {
    const auto profile = parse_profile("test", toml, "test.toml");
    std::string out;
    if (!profile) {
        for (const Problem& problem : profile.error()) {
            out += problem.text() + "\n";
        }
    }
    return out;
}

struct ErrorCase {
    std::string_view name;
    std::string_view toml;
    std::string_view want;
};

class ProfileError : public testing::TestWithParam<ErrorCase> {};

TEST_P(ProfileError, NamesThePlaceAndTheRemedy) {
    EXPECT_EQ(problems_of(GetParam().toml), std::string{GetParam().want} + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProfileError,
    testing::Values(
        ErrorCase{"unknown_key", "[sequence]\nfeild = \"/seq\"",
                  "unknown key sequence.feild (test.toml:2:1): did you mean sequence.field?"},
        ErrorCase{"pointer_without_slash", "[sequence]\nfield = \"seq\"",
                  "sequence.field: \"seq\" is no JSON pointer: it does not begin with \"/\" (test.toml:2:9): write it "
                  "like /data/seq"},
        ErrorCase{"pointer_with_bare_tilde", "[sequence]\nfield = \"/a~b\"",
                  "sequence.field: \"/a~b\" is no JSON pointer: a \"~\" is not followed by 0 or 1 (test.toml:2:9): "
                  "write ~0 for \"~\" and ~1 for \"/\""},
        ErrorCase{"two_resume_forms",
                  "[sequence]\nfield = \"/s\"\n[resume]\nquery = \"since\"\nmessage = \"from {cursor}\"",
                  "resume.query and resume.message are both set (test.toml): keep the form in which the upstream takes "
                  "a cursor"},
        ErrorCase{"resume_without_sequence", "[resume]\nquery = \"since\"",
                  "resume.query is set, but sequence.field is not, so that there is no cursor to resume from "
                  "(test.toml): set sequence.field to where a message has its sequence, like /seq"},
        ErrorCase{"resume_message_without_cursor", "[sequence]\nfield = \"/s\"\n[resume]\nmessage = \"go\"",
                  "resume.message has no {cursor} (test.toml): write {cursor} where the upstream takes it, like "
                  "{\"resume_from\":{cursor}}"},
        ErrorCase{"inclusive_without_resume", "[resume]\ninclusive = true",
                  "resume.inclusive is set, but neither resume.query nor resume.message is (test.toml): set the form "
                  "in which the upstream takes a cursor"},
        ErrorCase{"first_without_sequence", "[sequence]\nfirst = 1",
                  "sequence.first is set, but sequence.field is not (test.toml): set sequence.field to where a "
                  "message has its sequence, like /seq"},
        ErrorCase{"frame_above_message", "[limits]\nmessage_bytes = \"1MiB\"",
                  "limits.frame_bytes (16MiB) is above limits.message_bytes (1MiB) (test.toml): lower the one or "
                  "raise the other"},
        ErrorCase{"pings_without_a_pause", "[liveness]\nping_every = \"1ms\"",
                  "liveness.ping_every is less than 100ms (test.toml): use 100ms or more, or 0 for no pings"},
        ErrorCase{"reserved_header", "[headers]\nsec-websocket-key = \"x\"",
                  "headers sets sec-websocket-key, which the handshake itself sets (test.toml:1:1): remove it"},
        ErrorCase{"header_with_a_break", "[headers]\nX-A = \"a\\r\\nX-B: c\"",
                  "headers: a value has a control character (test.toml:1:1): write it in one line"},
        ErrorCase{"incomplete_reference", "[headers]\nX-A = \"${env:\"",
                  "headers: a reference that begins with \"${\" is not complete (test.toml:1:1): write ${env:NAME} or "
                  "${file:PATH}, or $${ for a plain ${"},
        ErrorCase{"wrong_type", "[tls]\nverify = \"no\"",
                  "tls.verify must be true or false, not a string (test.toml:2:10): write it like true, without "
                  "quotes"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(Profile, PlainIsShippedWithTheDefaults) {
    const auto set = load_profiles("");
    ASSERT_TRUE(set);
    Profile plain = set->find("plain")->second;
    plain.description.clear();
    Profile defaults;
    defaults.name = "plain";
    EXPECT_EQ(plain, defaults);
}

TEST(Profile, ShowsItselfAsTomlThatReadsBack) {
    auto profile = parse_profile("x", R"(
description = "a \"quoted\" one"
headers = { X-Key = "${env:KEY}" }
subprotocols = ["a", "b"]
[open]
send = ['{"op":"subscribe"}']
[sequence]
field = "/seq"
first = 1
[resume]
message = '{"from":{cursor}}'
)",
                                 "x.toml");
    ASSERT_TRUE(profile);
    const auto again = parse_profile("x", profile_toml(*profile), "again.toml");
    ASSERT_TRUE(again) << again.error().front().text();
    EXPECT_EQ(*again, *profile);
    EXPECT_THAT(profile_json(*profile), HasSubstr("\"X-Key\": \"${env:KEY}\""));
}

TEST(Profile, ReportsADirectoryThatIsNotThere) {
    const auto set = load_profiles("/nowhere/at/all");
    ASSERT_FALSE(set);
    EXPECT_THAT(set.error().front().text(), HasSubstr("(/nowhere/at/all): correct profiles.directory"));
}

ResolvedProfile resolved() {
    ResolvedProfile out;
    out.url = "wss://feed.example/{channel}?key=1";
    out.variables = {{"channel", "a b"}, {"token", "q\"t"}};
    out.profile.sequence.field = "/seq";
    return out;
}

TEST(Dialling, FillsTheUrlAndAddsTheCursorOnlyWhenThereIsOne) {
    auto profile = resolved();
    profile.profile.resume.query = "since";
    EXPECT_EQ(dial_url(profile, "c", std::nullopt), "wss://feed.example/a%20b?key=1");
    EXPECT_EQ(dial_url(profile, "c", "5&6"), "wss://feed.example/a%20b?key=1&since=5%266");
}

TEST(Dialling, FillsHeaders) {
    auto profile = resolved();
    profile.profile.headers = {{"X-Id", "{connection_id}/{token}"}};
    EXPECT_EQ(dial_headers(profile, "btc").at("X-Id"), "btc/q\"t");
}

TEST(Dialling, EscapesWhatGoesIntoJsonMessages) {
    auto profile = resolved();
    profile.profile.open.send = {R"({"auth":"{token}","id":{connection_id}})", "hello {token}"};
    EXPECT_THAT(opening_messages(profile, "c-1", std::nullopt),
                ElementsAre(R"({"auth":"q\"t","id":"c-1"})", "hello q\"t"));
}

TEST(Dialling, SendsWhatNamesTheCursorOnlyWhenThereIsOne) {
    auto profile = resolved();
    profile.profile.open.send = {"hello", R"({"after":{cursor}})"};
    profile.profile.resume.message = R"({"resume":"{cursor}"})";
    EXPECT_THAT(opening_messages(profile, "c", std::nullopt), ElementsAre("hello"));
    EXPECT_THAT(opening_messages(profile, "c", "17"), ElementsAre("hello", R"({"after":17})", R"({"resume":"17"})"));
}

}  // namespace
}  // namespace longhold::config
