// SPDX-License-Identifier: Apache-2.0
// The command line as a person meets it, on a SQLite store in a directory of its own.
#include "commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "captured_console.h"

namespace longhold::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What a command printed and how it ended.
struct Ran {
    ExitCode code = ExitCode::done;
    std::string output;
    std::string errors;
};

class CommandLine : public testing::Test {
protected:
    CommandLine() {
        std::string pattern = (std::filesystem::temp_directory_path() / "longhold-cli-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        environment_["LONGHOLD_STORE__URL"] = "sqlite:" + directory_ + "/store.db";
    }

    ~CommandLine() override { std::filesystem::remove_all(directory_); }

    Ran run(const std::vector<std::string>& words) {
        CapturedConsole console;
        console.input = input_;
        console.terminal = terminal_;
        console.answers = {answer_};
        Context context{.console = console,
                        .clock = clock_,
                        .environment = environment_,
                        .read_file = [this](const std::string& path) -> std::expected<std::string, std::string> {
                            const auto found = files_.find(path);
                            if (found == files_.end()) {
                                return std::unexpected("No such file or directory");
                            }
                            return found->second;
                        },
                        .open_store = open_store_for_command,
                        .build = {.version = "1.2.3",
                                  .build_type = "Debug",
                                  .compiler = "a compiler",
                                  .stores = {"memory", "sqlite"},
                                  .sinks = {"ndjson"}}};
        Ran ran;
        ran.code = run_command_line(all_commands(), words, context);
        ran.output = console.output;
        ran.errors = console.errors;
        return ran;
    }

    void put(const std::string& id, const std::string& label = "venue=a") {
        ASSERT_EQ(run({"connection", "put", id, "--url", "wss://feed.example/" + id, "--label", label}).code,
                  ExitCode::done);
    }

    std::string directory_;
    config::Environment environment_;
    std::map<std::string, std::string> files_;
    std::string input_;
    std::string answer_;
    bool terminal_ = false;
    runtime::SystemClock clock_;
};

TEST_F(CommandLine, PutsGetsAndListsAConnection) {
    const auto put = run({"connection", "put", "btc", "--url", "wss://feed.example/btc", "--label", "venue=a",
                          "--label", "tier=1", "--set", "sequence.field=/seq", "--set", "resume.query=since"});
    EXPECT_EQ(put.output, "put btc: STARTED, spec revision 1\n") << put.errors;
    const auto got = run({"connection", "get", "btc", "-o", "json"});
    EXPECT_THAT(got.output,
                StartsWith(R"({"id":"btc","labels":{"tier":"1","venue":"a"},"spec":{"profile":"plain",)"
                           R"("resume":{"query":"since"},"sequence":{"field":"/seq"},"url":"wss://feed.example/btc"},)"
                           R"("spec_revision":1,"desired_state":"STARTED","owner":null,"worker":null,"epoch":)"));
    EXPECT_THAT(run({"connection", "get", "btc"}).output, HasSubstr("labels         tier=1,venue=a\n"));
    EXPECT_THAT(run({"connection", "list"}).output,
                AllOf(StartsWith("ID   DESIRED  OWNER"), HasSubstr("\nbtc  STARTED  -")));
    EXPECT_EQ(run({"connection", "list", "-o", "ndjson"}).output, got.output);
    EXPECT_THAT(run({"connection", "list", "-o", "json"}).output,
                AllOf(StartsWith("{\"connections\":[{"), HasSubstr("}]}\n")));
}

TEST_F(CommandLine, ListsBySelectorAndLimit) {
    put("a");
    put("b", "venue=b");
    put("c");
    const auto ids = [](const Ran& ran) { return std::ranges::count(ran.output, '\n'); };
    EXPECT_EQ(ids(run({"connection", "list", "-o", "ndjson"})), 3);
    EXPECT_EQ(ids(run({"connection", "list", "-o", "ndjson", "--selector", "venue=a"})), 2);
    EXPECT_EQ(ids(run({"connection", "list", "-o", "ndjson", "--limit", "1"})), 1);
    EXPECT_EQ(run({"connection", "list", "--limit", "x"}).errors,
              "longhold: \"x\" is no number of connections (--limit): give a whole number from 1\n");
}

TEST_F(CommandLine, ReplacesAnExistingConnectionUnlessToldToCreate) {
    put("a");
    const auto create = run({"connection", "put", "a", "--url", "wss://h/", "--create"});
    EXPECT_EQ(create.code, ExitCode::failed);
    EXPECT_EQ(
        create.errors,
        "longhold: the connection \"a\" exists already (store): leave --create out to replace it, or take another "
        "id\n");
    EXPECT_EQ(run({"connection", "put", "a", "--url", "wss://h/", "--stopped"}).output,
              "put a: STOPPED, spec revision 2\n");
}

TEST_F(CommandLine, ReadsASpecFromAFileAndFromInput) {
    files_["spec.json"] = R"({"url":"wss://h/file"})";
    input_ = R"({"url":"wss://h/input"})";
    EXPECT_EQ(run({"connection", "put", "a", "--spec", "spec.json"}).code, ExitCode::done);
    EXPECT_EQ(run({"connection", "put", "b", "--spec", "-", "--profile", "plain"}).code, ExitCode::done);
    EXPECT_THAT(run({"connection", "get", "a"}).output, HasSubstr("wss://h/file"));
    EXPECT_THAT(run({"connection", "get", "b"}).output, HasSubstr("wss://h/input"));
}

struct UsageCase {
    std::string_view name;
    std::vector<std::string> words;
    std::string_view want;
};

class Usage : public CommandLine, public testing::WithParamInterface<UsageCase> {};

TEST_P(Usage, IsExplainedAndExitsWithTwo) {
    const auto ran = run(GetParam().words);
    EXPECT_EQ(ran.errors, "longhold: " + std::string{GetParam().want} + "\n");
    EXPECT_EQ(ran.code, ExitCode::usage);
    EXPECT_EQ(ran.output, "");
}

INSTANTIATE_TEST_SUITE_P(
    Table, Usage,
    testing::Values(
        UsageCase{"nothing", {}, "there is no command (command line): see `longhold --help`"},
        UsageCase{"unknown_group",
                  {"conection", "list"},
                  "unknown command conection (command line): did you mean connection?"},
        UsageCase{"unknown_command", {"connection", "lst"}, "unknown command lst (command line): did you mean list?"},
        UsageCase{"group_alone",
                  {"connection"},
                  "longhold connection needs a command (command line): see `longhold connection --help`"},
        UsageCase{"unknown_option",
                  {"connection", "list", "--selectr", "a=b"},
                  "unknown option --selectr (command line): did you mean --selector?"},
        UsageCase{"option_of_the_command_before_it",
                  {"connection", "--store", "sqlite:other.db", "delete", "k6", "--yes"},
                  "--store stands before its command (command line): put --store after `connection delete`"},
        UsageCase{"option_with_equals_before_the_group",
                  {"--config=x.toml", "serve"},
                  "--config stands before its command (command line): put --config after `serve`"},
        UsageCase{"unknown_option_before_the_command",
                  {"--bogus", "config", "check"},
                  "unknown option --bogus (command line): see `longhold config check --help`"},
        UsageCase{"unknown_option_between_the_words",
                  {"config", "--confg", "x", "check"},
                  "unknown option --confg (command line): did you mean --config?"},
        UsageCase{"unknown_option_without_a_command",
                  {"--bogus", "connection"},
                  "unknown option --bogus (command line): see `longhold connection --help`"},
        UsageCase{"word_before_the_command",
                  {"please", "config", "check"},
                  "unknown command please (command line): see `longhold --help`"},
        UsageCase{"store_of_a_command_without_it",
                  {"serve", "--store", "sqlite:x.db"},
                  "unknown option --store (command line): use --set store.url=URL"},
        UsageCase{
            "missing_id", {"connection", "get"}, "ID is missing (command line): see `longhold connection get --help`"},
        UsageCase{"second_id",
                  {"connection", "get", "a", "b"},
                  "one word too many: b (command line): see `longhold connection get --help`"},
        UsageCase{
            "unknown_format",
            {"connection", "list", "-o", "yaml"},
            "-o is \"yaml\", not one of table, json, ndjson (command line): see `longhold connection list --help`"},
        UsageCase{
            "option_given_twice",
            {"connection", "list", "--limit", "1", "--limit", "2"},
            "--limit is given 2 times, but takes one value (command line): see `longhold connection list --help`"},
        UsageCase{"option_without_value",
                  {"connection", "put", "a", "--url"},
                  "--url needs a value (command line): put one behind it; see `longhold --help`"},
        UsageCase{"no_url",
                  {"connection", "put", "a"},
                  "nothing says where to connect to (command line): give --url wss://… or --spec FILE"},
        UsageCase{
            "malformed_url",
            {"connection", "put", "a", "--url", "wss//h"},
            "the URL \"wss//h\" is malformed: it does not begin with ws:// or wss:// (spec of a): a WebSocket URL "
            "does"},
        UsageCase{
            "bad_id",
            {"connection", "put", "a b", "--url", "wss://h/"},
            "the connection id \"a b\" has a character that is not allowed, at position 2 (command line): use 1 to "
            "128 characters of A-Z a-z 0-9 and ._:@/-"},
        UsageCase{"bad_label",
                  {"connection", "put", "a", "--url", "wss://h/", "--label", "venue"},
                  "\"venue\" is no label: it has no \"=\" (--label): write it like region=eu"},
        UsageCase{"unknown_spec_key",
                  {"connection", "put", "a", "--url", "wss://h/", "--set", "sequence.feild=/s"},
                  "unknown key sequence.feild (--set): did you mean sequence.field?"},
        UsageCase{"unknown_setting",
                  {"connection", "list", "--set", "store.ulr=x"},
                  "unknown key store.ulr (--set store.ulr): did you mean store.url?"},
        UsageCase{"no_settings_file",
                  {"config", "check", "--config", "gone.toml"},
                  "the settings file cannot be read: No such file or directory (gone.toml): correct --config"},
        UsageCase{"neither_ids_nor_selector",
                  {"connection", "stop"},
                  "nothing says which connections to stop (command line): give either ids or --selector key=value"},
        UsageCase{"unknown_profile",
                  {"profile", "show", "plan"},
                  "there is no profile \"plan\" (command line): did you mean plain?"},
        UsageCase{"unknown_shell",
                  {"completion", "tcsh"},
                  "there is no completion for \"tcsh\" (command line): use bash, zsh or fish"}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST_F(CommandLine, StopsStartsAndDeletesByIdAndGoesOnAfterAFailure) {
    put("a");
    put("b");
    const auto stopped = run({"connection", "stop", "a", "gone", "b"});
    EXPECT_EQ(stopped.code, ExitCode::failed);
    EXPECT_EQ(stopped.output, "stopped 2 of 3 connections\n");
    EXPECT_EQ(stopped.errors,
              "longhold: there is no connection \"gone\" (store): `longhold connection list` shows what is there\n");
    EXPECT_THAT(run({"connection", "get", "b"}).output, HasSubstr("STOPPED"));
    EXPECT_EQ(run({"connection", "start", "b"}).output, "started 1 of 1 connection\n");
    EXPECT_THAT(run({"connection", "get", "b"}).output, HasSubstr("STARTED"));
    EXPECT_EQ(run({"connection", "delete", "b"}).output, "deleted 1 of 1 connection\n");
    EXPECT_EQ(run({"connection", "get", "b"}).code, ExitCode::failed);
}

TEST_F(CommandLine, AsksBeforeChangingMany) {
    put("a");
    put("b", "venue=b");
    put("c");
    const std::vector<std::string> words{"connection", "delete", "--selector", "venue=a"};
    const auto unattended = run(words);
    EXPECT_EQ(unattended.code, ExitCode::usage);
    EXPECT_EQ(
        unattended.errors,
        "longhold: this needs a yes: delete 2 connections with venue=a? (standard input is no terminal): add --yes\n");
    terminal_ = true;
    answer_ = "n";
    EXPECT_THAT(run(words).errors, HasSubstr("delete 2 connections with venue=a? [y/N] nothing was changed"));
    answer_ = "y";
    EXPECT_EQ(run(words).output, "deleted 2 of 2 connections\n");
    terminal_ = false;
    EXPECT_EQ(run({"connection", "stop", "--selector", "venue=b", "--yes"}).output, "stopped 1 of 1 connection\n");
}

TEST_F(CommandLine, ImportsWhatItExports) {
    put("a");
    put("b", "venue=b");
    ASSERT_EQ(run({"connection", "stop", "b"}).code, ExitCode::done);
    input_ = run({"connection", "export"}).output;
    EXPECT_EQ(
        input_,
        R"({"id":"a","labels":{"venue":"a"},"spec":{"profile":"plain","url":"wss://feed.example/a"},"desired_state":"STARTED"})"
        "\n"
        R"({"id":"b","labels":{"venue":"b"},"spec":{"profile":"plain","url":"wss://feed.example/b"},"desired_state":"STOPPED"})"
        "\n");
    const auto same = run({"connection", "import", "-", "--prune"});
    EXPECT_EQ(same.output, "0 to create, 0 to update, 0 to delete, 2 unchanged\n") << same.errors;
    const auto other = run({"connection", "import", "-", "--namespace", "other"});
    EXPECT_EQ(other.output, "+ a\n+ b\n2 to create, 0 to update, 0 to delete, 0 unchanged\n");
    EXPECT_EQ(run({"connection", "export", "--namespace", "other"}).output, input_);
    input_ = run({"connection", "export", "-o", "json"}).output;
    EXPECT_EQ(run({"connection", "import", "-"}).output, same.output);
}

TEST_F(CommandLine, ShowsADifferenceWithoutApplyingItInADryRun) {
    put("a");
    put("b");
    input_ = R"([{"id":"a","spec":{"url":"wss://feed.example/a"},"desired_state":"STOPPED"},
                 {"id":"n","spec":{"url":"wss://feed.example/n"}}])";
    const std::string want =
        "+ n\n~ a (labels, desired_state)\n- b\n1 to create, 1 to update, 1 to delete, 0 unchanged\nnothing was "
        "changed (dry run)\n";
    EXPECT_EQ(run({"connection", "import", "-", "--dry-run", "--prune"}).output, want);
    EXPECT_EQ(run({"connection", "get", "n"}).code, ExitCode::failed);
    EXPECT_EQ(run({"connection", "import", "-", "--prune", "-o", "json"}).code, ExitCode::usage);
    EXPECT_EQ(run({"connection", "get", "n"}).code, ExitCode::failed) << "nothing is applied without a yes";
    EXPECT_EQ(
        run({"connection", "import", "-", "--prune", "--yes", "-o", "json"}).output,
        R"({"created":["n"],"updated":[{"id":"a","changes":"labels, desired_state"}],"deleted":["b"],"unchanged":0,"applied":true})"
        "\n");
    EXPECT_EQ(run({"connection", "get", "n"}).code, ExitCode::done);
    EXPECT_EQ(run({"connection", "get", "b"}).code, ExitCode::failed);
}

TEST_F(CommandLine, AnEmptyImportPrunesOnlyWhenToldTwice) {
    put("a");
    input_ = "";  // as a pipe from an export that failed
    const auto refused = run({"connection", "import", "-", "--prune", "--yes"});
    EXPECT_EQ(refused.code, ExitCode::usage);
    EXPECT_THAT(refused.errors, HasSubstr("--prune would delete all 1"));
    EXPECT_EQ(run({"connection", "get", "a"}).code, ExitCode::done);
    EXPECT_THAT(run({"connection", "import", "-", "--prune", "--dry-run"}).output, HasSubstr("1 to delete"));
    EXPECT_EQ(run({"connection", "import", "-", "--prune", "--prune-all", "--yes"}).code, ExitCode::done);
    EXPECT_EQ(run({"connection", "get", "a"}).code, ExitCode::failed);
}

TEST_F(CommandLine, ImportsNothingOfAFileWithProblems) {
    input_ = R"({"id":"a","spec":{"url":"wss://h/"}}
{"id":"b","spec":{"url":"http://h/"}}
{"id":"c","spec":{"url":"wss://h/","profile":"gone"}}
)";
    const auto ran = run({"connection", "import", "-"});
    EXPECT_EQ(ran.code, ExitCode::usage);
    EXPECT_THAT(ran.errors, AllOf(HasSubstr("(standard input:2)"), HasSubstr("(standard input:3)")));
    input_ = R"({"id":"a","spec":{"url":"wss://h/"}}
{"id":"a","spec":{"url":"wss://h/"}}
)";
    EXPECT_EQ(
        run({"connection", "import", "-"}).errors,
        "longhold: the connection id \"a\" occurs twice, on lines 1 and 2 (standard input:2): remove one of the two\n");
    put("z");
    EXPECT_THAT(run({"connection", "list"}).output, Not(HasSubstr("wss")));
    EXPECT_EQ(run({"connection", "get", "a"}).code, ExitCode::failed);
}

TEST_F(CommandLine, SaysThatAStoreIsNotThere) {
    const auto ran = run({"connection", "list", "--store", "sqlite:" + directory_ + "/none/store.db"});
    EXPECT_EQ(ran.code, ExitCode::failed);
    EXPECT_THAT(ran.errors,
                AllOf(StartsWith("longhold: "), HasSubstr("(opening the store sqlite:"), HasSubstr("): create it")));
    const auto unknown = run({"connection", "list", "--store", "mysql:x"});
    EXPECT_EQ(unknown.code, ExitCode::usage);
    EXPECT_THAT(unknown.errors, HasSubstr("mysql"));
}

TEST_F(CommandLine, NamesTheWholePathOfAStoreThatIsNotThere) {
    const auto ran = run({"connection", "list", "--store", "sqlite:no-such-store.db"});
    EXPECT_EQ(ran.code, ExitCode::failed);
    EXPECT_THAT(ran.errors, HasSubstr((std::filesystem::current_path() / "no-such-store.db").string()));
}

TEST_F(CommandLine, RefusesSchemesThatThisBuildDoesNotHave) {
    files_["l.toml"] = "[store]\nurl = \"postgres://u:secret@h/x\"\n[sinks.main]\nurl = \"kafka:x\"\n";
    environment_.clear();
    for (const auto& words : {std::vector<std::string>{"config", "check"}, {"serve"}}) {
        auto with_file = words;
        with_file.insert(with_file.end(), {"--config", "l.toml"});
        const auto ran = run(with_file);
        EXPECT_EQ(ran.code, ExitCode::usage);
        EXPECT_EQ(ran.errors,
                  "longhold: store.url has the scheme \"postgres\", which this build does not have (l.toml:2:7): use "
                  "one of: memory:, sqlite:\n"
                  "longhold: sinks.main.url has the scheme \"kafka\", which this build does not have (l.toml:4:7): "
                  "use one of: ndjson:\n");
    }
}

TEST_F(CommandLine, ChecksAndExplainsSettings) {
    files_["l.toml"] = "[lease]\nduration = \"9s\"\n";
    EXPECT_THAT(run({"config", "check", "--config", "l.toml"}).output, StartsWith("ok: "));
    environment_["LONGHOLD_CONFIG"] = "l.toml";
    EXPECT_THAT(run({"config", "explain"}).output, testing::ContainsRegex("lease.duration +9s +l.toml:2:12\n"));
    EXPECT_THAT(run({"config", "explain", "-o", "json", "--set", "lease.duration=10s"}).output,
                HasSubstr("\"value\": \"10s\",\n      \"origin\": \"--set lease.duration\""));
    files_["l.toml"] = "[lease]\nduration = 9\n[log]\nlevel = 1\n";
    const auto bad = run({"config", "check"});
    EXPECT_EQ(bad.code, ExitCode::usage);
    EXPECT_EQ(std::ranges::count(bad.errors, '\n'), 2);
}

TEST_F(CommandLine, ListsAndShowsProfiles) {
    EXPECT_THAT(run({"profile", "list"}).output, HasSubstr("\nplain  "));
    EXPECT_THAT(run({"profile", "list", "-o", "json"}).output, StartsWith(R"({"profiles":[{"name":"plain",)"));
    EXPECT_THAT(run({"profile", "show", "plain"}).output, HasSubstr("[liveness]\nping_every = \"20s\"\n"));
    EXPECT_THAT(run({"profile", "show", "plain", "-o", "json"}).output, HasSubstr("\"liveness.ping_every\": \"20s\""));
}

TEST_F(CommandLine, PrintsItsVersion) {
    EXPECT_EQ(run({"--version"}).output,
              "longhold 1.2.3\nbuild: Debug\ncompiler: a compiler\nstores: memory, sqlite\nsinks: ndjson\n");
}

TEST_F(CommandLine, HelpOfEachCommandNamesItsOptionsAndHasAnExample) {
    const auto root = run({"--help"});
    for (const Command& command : all_commands()) {
        std::vector<std::string> words;
        std::istringstream path{command.path};
        for (std::string word; path >> word;) {
            words.push_back(word);
        }
        EXPECT_THAT(root.output, HasSubstr(words.front()));
        words.emplace_back("--help");
        const auto help = run(words);
        EXPECT_EQ(help.code, ExitCode::done);
        EXPECT_THAT(help.output, AllOf(HasSubstr(command.summary), HasSubstr("Examples:\n  "),
                                       HasSubstr("longhold " + command.path)));
        for (const auto& option : command.options) {
            EXPECT_THAT(help.output, HasSubstr((option.name.size() == 1 ? "-" : "--") + option.name)) << command.path;
            EXPECT_FALSE(option.help.empty());
        }
    }
}

TEST_F(CommandLine, CompletionKnowsEachCommandAndOption) {
    for (const auto* const shell : {"bash", "zsh", "fish"}) {
        const auto script = run({"completion", shell}).output;
        EXPECT_THAT(script, AllOf(HasSubstr("import"), HasSubstr("dry-run"), HasSubstr("ndjson"), HasSubstr("explain")))
            << shell;
    }
}

TEST_F(CommandLine, TablesAreBoldOnlyOnATerminal) {
    put("a");
    EXPECT_THAT(run({"connection", "list"}).output, Not(HasSubstr("\x1b[")));
    terminal_ = true;
    EXPECT_THAT(run({"connection", "list"}).output, StartsWith("\x1b[1mID"));
}

}  // namespace
}  // namespace longhold::app
