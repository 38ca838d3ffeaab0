// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/config/connection_spec.h>

namespace longhold::config {
namespace {

using testing::HasSubstr;

const ProfileSet& profiles() {
    static const ProfileSet set = load_profiles("").value();
    return set;
}

std::string text_of(const Problems& problems) {
    std::string out;
    for (const Problem& problem : problems) {
        out += problem.text() + "\n";
    }
    return out;
}

std::string problems_of(std::string_view json) {
    const auto spec = parse_spec(json, "spec");
    return spec ? text_of(check_spec(*spec, profiles(), "spec")) : text_of(spec.error());
}

struct ErrorCase {
    std::string_view name;
    std::string_view json;
    std::string_view want;
};

class SpecError : public testing::TestWithParam<ErrorCase> {};

TEST_P(SpecError, NamesTheThingAndTheRemedy) {
    EXPECT_EQ(problems_of(GetParam().json), std::string{GetParam().want} + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Table, SpecError,
    testing::Values(
        ErrorCase{"no_url", "{}", R"(the spec has no url (spec): add "url":"wss://…")"},
        ErrorCase{"no_object", "[]",
                  R"(a spec must be an object, not a list (spec): write it like {"url":"wss://feed.example/ws"})"},
        ErrorCase{"http_url", R"({"url":"https://x/"})",
                  "the URL \"https://x/\" is malformed: it does not begin with ws:// or wss:// (spec): a WebSocket URL "
                  "does"},
        ErrorCase{"url_without_host", R"({"url":"wss:///path"})",
                  "the URL \"wss:///path\" is malformed: it has no host (spec): write it like wss://feed.example/path"},
        ErrorCase{"url_with_bad_port", R"({"url":"wss://h:99999/"})",
                  "the URL \"wss://h:99999/\" is malformed: the port \"99999\" is not a number of 1 to 65535 (spec): "
                  "correct it or leave it out"},
        ErrorCase{"url_with_space", R"({"url":"wss://h/a b"})",
                  "the URL \"wss://h/a b\" is malformed: character 10 is not allowed (spec): percent-encode it"},
        ErrorCase{"url_with_user", R"({"url":"wss://u:p@h/"})",
                  "the URL \"wss://u:p@h/\" is malformed: it has a user name or password (spec): put credentials into "
                  "headers.Authorization"},
        ErrorCase{"url_with_fragment", R"({"url":"wss://h/#x"})",
                  "the URL \"wss://h/#x\" is malformed: it has a fragment (\"#…\"), which no server sees (spec): leave "
                  "it out or write %23"},
        ErrorCase{"unknown_profile", R"({"url":"wss://h/","profile":"plian"})",
                  "there is no profile \"plian\" (spec): did you mean plain? `longhold profile list` shows the "
                  "profiles; further ones come from profiles.directory"},
        ErrorCase{"unknown_key", R"({"url":"wss://h/","varaibles":{}})",
                  "unknown key varaibles (spec): did you mean variables?"},
        ErrorCase{"unknown_nested_key", R"({"url":"wss://h/","sequence":{"filed":"/s"}})",
                  "unknown key sequence.filed (spec): did you mean sequence.field?"},
        ErrorCase{"wrong_type", R"({"url":5})", "url must be a string, not an integer (spec): put it in quotes"},
        ErrorCase{"reserved_variable", R"({"url":"wss://h/","variables":{"cursor":"1"}})",
                  "variables.cursor would hide what {cursor} means already (spec): give it another name"},
        ErrorCase{"placeholder_without_value", R"({"url":"wss://h/","open":{"send":["{token}"]}})",
                  "open.send has {token}, which has no value (spec): set variables.token, or remove it"},
        ErrorCase{"cursor_in_the_url", R"({"url":"wss://h/{cursor}"})",
                  "url has {cursor}, which has no value there (spec): use {cursor} in open.send and resume.message "
                  "only"},
        ErrorCase{"resume_without_sequence", R"({"url":"wss://h/","resume":{"query":"since"}})",
                  "resume.query is set, but sequence.field is not, so that there is no cursor to resume from (spec): "
                  "set sequence.field to where a message has its sequence, like /seq"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(ConnectionSpec, ReportsTextThatIsNotJson) {
    EXPECT_THAT(problems_of("{\"url\":"), HasSubstr("this is not JSON: "));
}

TEST(ConnectionSpec, HasOneTextForEqualDocuments) {
    const auto a = parse_spec(R"({ "url":"wss://h/", "sequence":{"first":1,"field":"/s"} })", "a");
    const auto b = parse_spec(R"({"sequence":{"field":"/s","first":1},"profile":"plain","url":"wss://h/"})", "b");
    ASSERT_TRUE(a && b);
    EXPECT_EQ(spec_text(*a), spec_text(*b));
    EXPECT_EQ(spec_text(*a), R"({"profile":"plain","sequence":{"field":"/s","first":1},"url":"wss://h/"})");
    EXPECT_EQ(parse_spec(spec_text(*a), "again").value(), *a);
}

TEST(ConnectionSpec, OverridesWinOverTheProfile) {
    ProfileSet set = profiles();
    set["mine"] = parse_profile("mine", R"(
headers = { X-Key = "profile", X-Other = "stays" }
[sequence]
field = "/a"
[resume]
message = "from {cursor}"
)",
                                "mine.toml")
                      .value();
    const auto spec = parse_spec(
        R"({"url":"wss://h/","profile":"mine","headers":{"x-key":"spec"},"sequence":{"field":"/b"},"resume":{"query":"q"}})",
        "spec");
    ASSERT_TRUE(spec);
    const auto resolved = resolve_profile(*spec, set, {}, "spec");
    ASSERT_TRUE(resolved) << text_of(resolved.error());
    EXPECT_EQ(resolved->profile.headers, (std::map<std::string, std::string>{{"X-Other", "stays"}, {"x-key", "spec"}}));
    EXPECT_EQ(resolved->profile.sequence.field, "/b");
    EXPECT_EQ(resolved->profile.resume.query, "q");
    EXPECT_EQ(resolved->profile.resume.message, "");
}

TEST(ConnectionSpec, ResolvesReferencesWhenItIsUsed) {
    const auto spec =
        parse_spec(R"({"url":"wss://${env:HOST}/","headers":{"Authorization":"Bearer ${env:TOKEN}"}})", "spec");
    ASSERT_TRUE(spec);
    EXPECT_TRUE(check_spec(*spec, profiles(), "spec").empty());
    EXPECT_THAT(spec_text(*spec), HasSubstr("${env:TOKEN}"));
    ReferenceSources sources;
    sources.environment = {{"HOST", "feed.example"}};
    const auto missing = resolve_profile(*spec, profiles(), sources, "connection a");
    ASSERT_FALSE(missing);
    EXPECT_EQ(
        text_of(missing.error()),
        "headers.Authorization: the environment has no TOKEN, which ${env:TOKEN} names (connection a): set it for "
        "this process\n");
    sources.environment["TOKEN"] = "t0p";
    const auto resolved = resolve_profile(*spec, profiles(), sources, "connection a");
    ASSERT_TRUE(resolved);
    EXPECT_EQ(dial_url(*resolved, "a", std::nullopt), "wss://feed.example/");
    EXPECT_EQ(dial_headers(*resolved, "a").at("Authorization"), "Bearer t0p");
}

TEST(ConnectionSpec, DoesNotTellASecretThatMakesTheUrlMalformed) {
    const auto spec = parse_spec(R"({"url":"wss://h/?k=${env:KEY}"})", "spec");
    ReferenceSources sources;
    sources.environment = {{"KEY", "two words"}};
    const auto resolved = resolve_profile(*spec, profiles(), sources, "spec");
    ASSERT_FALSE(resolved);
    EXPECT_THAT(text_of(resolved.error()), testing::Not(HasSubstr("two words")));
}

TEST(ConnectionSpec, SetsKeysFromText) {
    std::string json;
    for (const auto& [path, value] :
         std::initializer_list<std::pair<std::string_view, std::string_view>>{{"url", "wss://h/"},
                                                                              {"sequence.first", "1"},
                                                                              {"sequence.field", "/s"},
                                                                              {"tls.verify", "false"},
                                                                              {"headers.X-Key", "5"},
                                                                              {"open.send", R"({"op":"a,b"})"}}) {
        const auto set = spec_with(json, path, value);
        ASSERT_TRUE(set) << set.error().text();
        json = *set;
    }
    EXPECT_EQ(json,
              R"({"headers":{"X-Key":"5"},"open":{"send":["{\"op\":\"a,b\"}"]},"sequence":{"field":"/s","first":1},)"
              R"("tls":{"verify":false},"url":"wss://h/"})");
    EXPECT_EQ(spec_with(json, "open.send", R"(["a","b"])").value_or(""),
              R"({"headers":{"X-Key":"5"},"open":{"send":["a","b"]},"sequence":{"field":"/s","first":1},)"
              R"("tls":{"verify":false},"url":"wss://h/"})");
    EXPECT_EQ(spec_with(json, "sequence.frist", "1").error().text(),
              "unknown key sequence.frist (--set): did you mean sequence.first?");
    EXPECT_EQ(spec_with(json, "headers", "1").error().text(),
              "headers is a table (--set): name one of its keys, like --set headers.name=value");
}

}  // namespace
}  // namespace longhold::config
