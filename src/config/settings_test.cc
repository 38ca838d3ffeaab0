// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/config/explain.h>
#include <longhold/config/settings.h>

namespace longhold::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SettingsInput file(std::string text) {
    SettingsInput input;
    input.file_name = "longhold.toml";
    input.file_text = std::move(text);
    return input;
}

std::string problems_of(const SettingsInput& input) {
    const auto loaded = load_settings(input);
    std::string out;
    if (!loaded) {
        for (const Problem& problem : loaded.error()) {
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

class SettingsError : public testing::TestWithParam<ErrorCase> {};

TEST_P(SettingsError, NamesThePlaceAndTheRemedy) {
    EXPECT_EQ(problems_of(file(std::string{GetParam().toml})), std::string{GetParam().want} + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Table, SettingsError,
    testing::Values(
        ErrorCase{"unknown_key", "[lease]\nduratoin = \"6s\"",
                  "unknown key lease.duratoin (longhold.toml:2:1): did you mean lease.duration?"},
        ErrorCase{"key_in_the_wrong_section", "[store]\npage_size = 5",
                  "unknown key store.page_size (longhold.toml:2:1): did you mean reconcile.page_size?"},
        ErrorCase{"unlike_anything", "[colour]\nof_money = 1",
                  "unknown key colour (longhold.toml:1:2): remove it; docs/configuration.md and docs/profiles.md list "
                  "all keys"},
        ErrorCase{"slip_in_a_section", "[sink.main]\nurl = \"ndjson:x/\"",
                  "unknown key sink (longhold.toml:1:2): did you mean sinks?"},
        ErrorCase{"section_that_is_no_table", "lease = 3",
                  "lease must be a table, not an integer (longhold.toml:1:9): write its keys under [lease]"},
        ErrorCase{"wrong_type_for_a_duration", "[lease]\nduration = 6",
                  "lease.duration must be a duration, not an integer (longhold.toml:2:12): write it like \"200ms\", "
                  "\"6s\" or \"1m30s\""},
        ErrorCase{"wrong_type_for_an_integer", "[worker]\nthreads = \"4\"",
                  "worker.threads must be an integer, not a string (longhold.toml:2:11): write it like 100, without "
                  "quotes"},
        ErrorCase{"wrong_type_for_a_string", "[log]\nlevel = 3",
                  "log.level must be a string, not an integer (longhold.toml:2:9): write it like \"text\", in quotes"},
        ErrorCase{"wrong_type_for_a_list", "roles = \"worker\"",
                  "roles must be a list of strings, not a string (longhold.toml:1:9): write it like [\"first\", "
                  "\"second\"]"},
        ErrorCase{"bad_duration", "[lease]\nduration = \"6x\"",
                  "lease.duration: \"6x\" is no duration: the unit \"x\" is not one of ns, us, ms, s, m, h, d "
                  "(longhold.toml:2:12): write it like 200ms, 6s or 1m30s"},
        ErrorCase{"bad_size", "[worker]\nintake_bytes = \"64MB!\"",
                  "worker.intake_bytes: \"64MB!\" is no size: the unit \"MB!\" is not one of B, kB, MB, GB, KiB, MiB, "
                  "GiB (longhold.toml:2:16): write it like 64MiB, 500kB or 4096"},
        ErrorCase{"too_small", "[lease]\nduration = \"10ms\"",
                  "lease.duration is 10ms, which is too small (longhold.toml:2:12): use 100ms to 1h"},
        ErrorCase{"too_large", "[lease]\ndrift_max = 0.3",
                  "lease.drift_max is 0.3, which is too large (longhold.toml:2:13): use 0 to 0.2"},
        ErrorCase{"negative", "[worker]\nthreads = -1",
                  "worker.threads is -1 (longhold.toml:2:11): use an integer of 0 or more"},
        ErrorCase{"heartbeat_above_a_third", "[lease]\nheartbeat_every = \"3s\"",
                  "lease.heartbeat_every is 3s, more than a third of lease.duration (6s) (longhold.toml:2:19): use at "
                  "most 2s, or a lease of at least 9s"},
        ErrorCase{"no_time_left_to_act", "[lease]\nstop_margin = \"3s\"",
                  "lease.duration × (1 - lease.drift_max) - lease.stop_margin is 2s940ms, which leaves no time for a "
                  "late heartbeat: it must be more than lease.heartbeat_every + lease.duration / 6 = 3s "
                  "(longhold.toml:2:15): lengthen lease.duration, or lower lease.heartbeat_every, lease.stop_margin "
                  "or lease.drift_max"},
        ErrorCase{"grace_below_the_sum", "[drain]\ngrace = \"30s\"",
                  "drain.grace is 30s, less than the 34s200ms that a stop may take: 2s200ms (the longer of "
                  "drain.balancer_wait and lease.heartbeat_every + 200ms) + handover 20s + flush 5s + close 2s + 5s in "
                  "reserve (longhold.toml:2:9): grant at least 34s200ms (and tell the orchestrator), or lower the "
                  "budgets"},
        ErrorCase{"two_listeners_on_one_port",
                  "[admin]\nlisten = \"127.0.0.1:8472\"\n[peer]\nkeys = [\"0123456789abcdef\"]",
                  "peer.listen and admin.listen are both 127.0.0.1:8472 (longhold.toml:2:10): give one of them another "
                  "port"},
        ErrorCase{"backoff_bounds_crossed", "[dial]\nbackoff_max = \"100ms\"",
                  "dial.backoff_min (250ms) is above dial.backoff_max (100ms) (longhold.toml:2:15): lower the one or "
                  "raise the other"},
        ErrorCase{"api_role", "roles = [\"worker\", \"api\"]",
                  "roles: the role \"api\" is not in this release (longhold.toml:1:9): use [\"worker\"]"},
        ErrorCase{"no_role", "roles = []",
                  "roles is empty, so that this process would do nothing (longhold.toml:1:9): use [\"worker\"]"},
        ErrorCase{"listen_without_port", "[admin]\nlisten = \"localhost\"",
                  "admin.listen: \"localhost\" is no address to listen on: it has no port (longhold.toml:2:10): write "
                  "it like 127.0.0.1:8471"},
        ErrorCase{"listen_with_a_port_too_large", "[admin]\nlisten = \"127.0.0.1:65536\"",
                  "admin.listen: \"127.0.0.1:65536\" is no address to listen on: the port \"65536\" is not a number "
                  "of 0 to 65535 (longhold.toml:2:10): correct it"},
        ErrorCase{"listen_on_bare_ipv6", "[admin]\nlisten = \"::1:80\"",
                  "admin.listen: \"::1:80\" is no address to listen on: an IPv6 address needs brackets "
                  "(longhold.toml:2:10): write it like [::1]:8471"},
        ErrorCase{"level_that_is_none", "[log]\nlevel = \"loud\"",
                  "log.level is \"loud\" (longhold.toml:2:9): use one of debug, info, warning, error"},
        ErrorCase{"namespace_with_a_space", "[store]\nnamespace = \"a b\"",
                  "store.namespace: the namespace \"a b\" has a character that is not allowed, at position 2 "
                  "(longhold.toml:2:13): use 1 to 64 characters of A-Z a-z 0-9 and ._-"},
        ErrorCase{"store_without_scheme", "[store]\nurl = \"longhold.db\"",
                  "store.url: \"longhold.db\" has no scheme or nothing behind it (longhold.toml:2:7): write it like "
                  "sqlite:longhold.db or ndjson:messages/"},
        ErrorCase{"reference_where_none_is_taken", "[worker]\nid = \"${env:HOSTNAME}\"",
                  "worker.id takes no references (longhold.toml:2:6): write the value itself"},
        ErrorCase{"reference_without_value", "[store]\nurl = \"sqlite:${env:NOWHERE}\"",
                  "store.url: the environment has no NOWHERE, which ${env:NOWHERE} names (longhold.toml:2:7): set it "
                  "for this process"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(Settings, AreValidAndEqualTheDefaultsWithoutAnySource) {
    auto loaded = load_settings({});
    ASSERT_TRUE(loaded);
    loaded->origins.clear();
    EXPECT_EQ(*loaded, Settings{});
}

TEST(Settings, ReportsTomlThatDoesNotParseWithItsPlace) {
    EXPECT_THAT(problems_of(file("[lease]\nduration = \"6s\nx = 1")), HasSubstr("(longhold.toml:2:"));
    EXPECT_THAT(problems_of(file("[lease]\nduration = \"6s\nx = 1")), HasSubstr("this is not TOML: "));
}

TEST(Settings, ReportsAllProblemsAtOnce) {
    auto input = file("[lease]\nduration = 6\n[log]\nlevel = \"loud\"\n[lesae]\nx = 1\n");
    input.flags = {"nonsense", "lease.durtion=5s"};
    input.sources.environment["LONGHOLD_WORKER__THREDS"] = "3";
    const auto loaded = load_settings(input);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().size(), 6U);
}

TEST(Settings, TakesFlagOverEnvironmentOverFileOverDefault) {
    auto input = file("[lease]\nduration = \"10s\"\nheartbeat_every = \"1s\"\nmargin = \"70ms\"\n");
    input.sources.environment = {{"LONGHOLD_LEASE__DURATION", "11s"}, {"LONGHOLD_LEASE__HEARTBEAT_EVERY", "1500ms"}};
    input.flags = {"lease.duration=12s", "lease.duration=13s"};
    const auto loaded = load_settings(input);
    ASSERT_TRUE(loaded) << problems_of(input);
    EXPECT_EQ(loaded->lease.duration, 13s);
    EXPECT_EQ(loaded->lease.heartbeat_every, 1500ms);
    EXPECT_EQ(loaded->lease.margin, 70ms);
    EXPECT_EQ(loaded->lease.drift_max, 0.01);
    EXPECT_EQ(loaded->origins.find("lease.duration")->second.place, "--set lease.duration");
    EXPECT_EQ(loaded->origins.find("lease.heartbeat_every")->second.place,
              "environment LONGHOLD_LEASE__HEARTBEAT_EVERY");
    EXPECT_EQ(loaded->origins.find("lease.margin")->second.place, "longhold.toml:4:10");
    EXPECT_EQ(loaded->origins.find("lease.drift_max")->second.place, "default");
}

TEST(Settings, ReadsEachTypeFromTheEnvironment) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_SINKS__MAIN__URL", "ndjson:out/"},
                                 {"LONGHOLD_WORKER__MAX_CONNECTIONS", "7"},
                                 {"LONGHOLD_WORKER__INTAKE_BYTES", "2MiB"},
                                 {"LONGHOLD_RECONCILE__JITTER", "0.5"},
                                 {"LONGHOLD_ROLES", "worker"},
                                 {"LONGHOLD_DRAIN__BALANCER_WAIT", "auto"},
                                 {"LONGHOLD_CONFIG", "not a setting"},
                                 {"PATH", "/bin"}};
    const auto loaded = load_settings(input);
    ASSERT_TRUE(loaded) << problems_of(input);
    EXPECT_EQ(loaded->sinks.main.url, "ndjson:out/");
    EXPECT_EQ(loaded->worker.max_connections, 7U);
    EXPECT_EQ(loaded->worker.intake_bytes.bytes, 2 * mebibyte);
    EXPECT_EQ(loaded->reconcile.jitter, 0.5);
    EXPECT_THAT(loaded->roles, ElementsAre("worker"));
}

TEST(Settings, NamesTheVariableOfAnUnknownOrUnusableKey) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_LEASE__DURATON", "6s"}, {"LONGHOLD_WORKER__THREADS", "many"}};
    EXPECT_EQ(problems_of(input),
              "the variable LONGHOLD_LEASE__DURATON names the unknown key lease.duraton (environment "
              "LONGHOLD_LEASE__DURATON): did you mean lease.duration?\n"
              "worker.threads must be an integer, not a string (environment LONGHOLD_WORKER__THREADS): write it like "
              "100, without quotes\n");
}

TEST(Settings, ResolvesReferencesAndShowsOnlyTheirNames) {
    auto input = file("[store]\nurl = \"postgres://user:${env:SECRET}@${file:/host}/db\"\n");
    input.sources.environment["SECRET"] = "hunter2";
    input.sources.read_file = [](const std::string& path) -> std::expected<std::string, std::string> {
        return path == "/host" ? std::expected<std::string, std::string>{"db.example\n"}
                               : std::unexpected("no such file");
    };
    const auto loaded = load_settings(input);
    ASSERT_TRUE(loaded) << problems_of(input);
    EXPECT_EQ(loaded->store.url, "postgres://user:hunter2@db.example/db");
    EXPECT_THAT(explain_table(*loaded), HasSubstr("postgres://user:${env:SECRET}@${file:/host}/db"));
    EXPECT_THAT(explain_table(*loaded), testing::Not(HasSubstr("hunter2")));
    EXPECT_THAT(explain_json(*loaded), testing::Not(HasSubstr("hunter2")));
}

TEST(Settings, HidesAPasswordWrittenInPlain) {
    const auto loaded = load_settings(file("[store]\nurl = \"postgres://user:hunter2@host/db\"\n"));
    ASSERT_TRUE(loaded);
    EXPECT_THAT(explain_json(*loaded), HasSubstr("postgres://user:***@host/db"));
}

TEST(Settings, NamesTheKeysThatAReloadCannotApply) {
    Settings before;
    Settings after = before;
    after.lease.duration = 9s;
    after.log.level = "debug";
    after.store.url = "sqlite:other.db";
    EXPECT_THAT(keys_needing_restart(before, after), ElementsAre("store.url", "lease.duration"));
    EXPECT_TRUE(keys_needing_restart(before, before).empty());
}

TEST(Settings, EveryDefaultReadsBackFromItsOwnText) {
    SettingsInput input;
    for (const KeyDescription& key : setting_keys()) {
        std::string preset = key.preset;
        std::erase(preset, '"');
        std::erase(preset, '[');
        std::erase(preset, ']');
        input.flags.push_back(key.path + "=" + preset);
        EXPECT_FALSE(key.summary.empty()) << key.path;
    }
    auto loaded = load_settings(input);
    ASSERT_TRUE(loaded) << problems_of(input);
    loaded->origins.clear();
    EXPECT_EQ(*loaded, Settings{});
}

TEST(Settings, AcceptsShortLeasesOfTests) {
    SettingsInput input;
    input.flags = {"lease.duration=900ms", "lease.heartbeat_every=200ms", "admin.listen=[::1]:0", "drain.grace=47s"};
    EXPECT_EQ(problems_of(input), "");
}

TEST(Settings, AListIsReadInBracketsTooAndItsSecretsAreNeverShown) {
    SettingsInput input;
    input.sources.environment = {{"KEY", "0123456789abcdef"}};
    input.flags = {R"(peer.keys=["${env:KEY}", "fedcba9876543210"])"};
    const auto settings = load_settings(input);
    ASSERT_TRUE(settings) << problems_of(input);
    EXPECT_EQ(settings->peer.keys, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
    EXPECT_EQ(settings->origins.at("peer.keys").shown, "${env:KEY}, (hidden)");
    input.flags = {"peer.keys=0123456789abcdef"};
    EXPECT_EQ(load_settings(input)->origins.at("peer.keys").shown, "(hidden)");
    input.flags = {"peer.keys=short"};
    EXPECT_EQ(problems_of(input).find("short,"), std::string::npos);
    EXPECT_NE(problems_of(input).find("fewer than 16 bytes"), std::string::npos);
}

TEST(Settings, ASectionIsNoKeyOfAFlag) {
    SettingsInput input;
    input.flags = {"lease=10"};
    EXPECT_THAT(
        problems_of(input),
        testing::StartsWith("lease is a section, not a key (--set lease): set one of its keys: lease.duration"));
}

TEST(Settings, AWorkersNameIsTextThatCanBeShown) {
    for (const std::string key : {"worker.id", "worker.zone"}) {
        for (const std::string name : {"w\n", "w 1", "w\x1b[2J", "w\x7f", "w\xff", "w\xc2", "w\xc2\x9b",
                                       "\xc3\xbcw\xc2\x80", "\xed\xa0\x80", "\xc0\xaf"}) {
            SettingsInput input;
            input.flags = {key + "=" + name};
            EXPECT_THAT(problems_of(input), testing::StartsWith(key + ": it must be valid UTF-8")) << name;
        }
        SettingsInput input;
        input.flags = {key + "=büro-1·\xc2\xa0日本"};
        EXPECT_EQ(problems_of(input), "");
    }
}

TEST(Settings, AKeyWrittenWithOneUnderscoreIsNotPassedOver) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_LEASE_DURATION", "10s"}};
    EXPECT_EQ(problems_of(input),
              "the variable LONGHOLD_LEASE_DURATION names no key (environment LONGHOLD_LEASE_DURATION): did you mean "
              "LONGHOLD_LEASE__DURATION?\n");
    input.sources.environment = {{"LONGHOLD_WORKER_MAX_CONNECTIONS", "10"}};
    EXPECT_THAT(problems_of(input), HasSubstr("did you mean LONGHOLD_WORKER__MAX_CONNECTIONS?"));
    input.sources.environment = {{"LONGHOLD_SINKS_MAIN_URL", "ndjson:out/"}};
    EXPECT_THAT(problems_of(input), HasSubstr("did you mean LONGHOLD_SINKS__MAIN__URL?"));
}

TEST(Settings, AVariableWithASectionThatNamesNoKeyIsAnError) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_STORE__PASSWORD", "x"}};
    EXPECT_THAT(problems_of(input), HasSubstr("LONGHOLD_STORE__PASSWORD names the unknown key store.password"));
    input.sources.environment = {{"LONGHOLD_VAULT__TOKEN", "x"}};
    EXPECT_THAT(problems_of(input), HasSubstr("LONGHOLD_VAULT__TOKEN names the unknown key vault.token"));
}

TEST(Settings, AVariableThatAReferenceAsksForIsAPersonsOwn) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_STORE_URL", "sqlite:mine.db"}, {"LONGHOLD_SINKS_MAIN_URL", "ndjson:mine/"}};
    input.flags = {"store.url=${env:LONGHOLD_STORE_URL}"};
    input.file_text = "[sinks.main]\nurl = \"${env:LONGHOLD_SINKS_MAIN_URL}\"\n";
    const auto settings = load_settings(input);
    ASSERT_TRUE(settings.has_value()) << problems_of(input);
    EXPECT_EQ(settings->store.url, "sqlite:mine.db");
    EXPECT_EQ(settings->sinks.main.url, "ndjson:mine/");
}

TEST(Settings, VariablesWithoutASectionAreLeftAlone) {
    SettingsInput input;
    input.sources.environment = {{"LONGHOLD_API", "x"},          {"LONGHOLD_JOBS", "2"},
                                 {"LONGHOLD_PEER_KEY", "x"},     {"LONGHOLD_SOAK", "1"},
                                 {"LONGHOLD_IMAGE_TAG", "1.2"},  {"LONGHOLD_STORE_SERVICE_HOST", "10.0.0.1"},
                                 {"LONGHOLD_PORT", "tcp://x"},   {"LONGHOLD_STORE_PORT_80_TCP", "tcp://x"},
                                 {"LONGHOLD_STORE", "x"},        {"LONGHOLD_STORE_PASSWORD", "secret"},
                                 {"LONGHOLD_LEASE_DURATON", "x"}};
    EXPECT_EQ(problems_of(input), "");
}

}  // namespace
}  // namespace longhold::config
