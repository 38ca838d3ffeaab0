// SPDX-License-Identifier: Apache-2.0
// `mock-upstream`, `store`, and the list of commands in the documentation.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include "tools_fixture.h"

namespace longhold::app {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// ---- mock-upstream --------------------------------------------------------------------------------------------------

TEST_F(Tools, MockUpstreamServesUntilASignal) {
    Ran tried;
    const auto ran = run({"mock-upstream", "--listen", "127.0.0.1:0", "--rate", "200", "--size", "300",
                          "--all-from-start", "--fault", "late-*:close=4000,after=1", "--fault", "x:mute"},
                         [&](const std::string& output) {
                             if (output.ends_with('\n')) {
                                 const auto address = output.substr(13, output.size() - 14);
                                 tried = run({"profile", "try", "ws://" + address + "/feed/late-1"});
                                 ::raise(SIGTERM);
                             }
                         });
    EXPECT_EQ(ran.code, ExitCode::done) << ran.errors;
    EXPECT_THAT(ran.output, MatchesRegex("listening on 127.0.0.1:[0-9]+\n"));
    EXPECT_EQ(tried.code, ExitCode::failed);
    EXPECT_THAT(tried.errors, HasSubstr("with code 4000"));
    EXPECT_EQ(tried.output.size(), 301U);
}

TEST_F(Tools, MockUpstreamExplainsWhatItCannotUse) {
    const auto taken = run({"mock-upstream", "--listen", "192.0.2.1:80"});
    EXPECT_EQ(taken.code, ExitCode::usage);
    EXPECT_THAT(taken.errors, AllOf(StartsWith("longhold: cannot listen on 192.0.2.1:80: "),
                                    HasSubstr(" (mock-upstream): correct the option")));
    EXPECT_THAT(run({"mock-upstream", "--listen", "here"}).errors, HasSubstr("(--listen): "));
    EXPECT_THAT(run({"mock-upstream", "--rate", "fast"}).errors, HasSubstr("\"fast\" is no number of messages per"));
    EXPECT_THAT(run({"mock-upstream", "--size", "big"}).errors, HasSubstr("(--size): "));
    EXPECT_THAT(run({"mock-upstream", "--fault", "a:mut"}).errors, AllOf(HasSubstr("mut"), HasSubstr("(--fault): ")));
}

TEST_F(Tools, MockUpstreamHelpNamesFaultsAndRoutes) {
    EXPECT_THAT(run({"mock-upstream", "--help"}).output,
                AllOf(HasSubstr("half_open"), HasSubstr("restart_sequence"), HasSubstr("/feed/ID"),
                      HasSubstr("/faults/ID"), HasSubstr("/oracle")));
}

// ---- store ----------------------------------------------------------------------------------------------------------

class StoreCommands : public Tools {
protected:
    Ran store(std::vector<std::string> words, const std::string& file = "store.db") {
        words.insert(words.begin(), "store");
        words.insert(words.end(), {"--store", "sqlite:" + directory_ + "/" + file});
        return run(words);
    }

    void execute(const std::string& sql) const {
        sqlite3* handle = nullptr;
        ASSERT_EQ(sqlite3_open((directory_ + "/store.db").c_str(), &handle), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
        sqlite3_close(handle);
    }
};

TEST_F(StoreCommands, InitCreatesOnceAndNamesWhatIsThere) {
    EXPECT_EQ(store({"init", "--buckets", "4"}).output,
              "init sqlite:" + directory_ + "/store.db, namespace default: schema version 1, 4 buckets\n");
    const auto again = store({"init"});
    EXPECT_EQ(again.code, ExitCode::failed);
    EXPECT_THAT(again.errors, AllOf(HasSubstr("has the namespace default already"), HasSubstr("nothing was changed")));
    EXPECT_EQ(store({"init", "--namespace", "other"}).code, ExitCode::done);
    EXPECT_EQ(store({"init", "--buckets", "x"}).code, ExitCode::usage);
    EXPECT_EQ(store({"init", "--buckets", "2000", "--namespace", "third"}).code, ExitCode::usage);
}

TEST_F(StoreCommands, SayWhyAStoreCannotBeMade) {
    const auto absent = store({"init"}, "none/store.db");
    EXPECT_EQ(absent.code, ExitCode::failed);
    EXPECT_THAT(absent.errors, AllOf(HasSubstr("/none of the store does not exist"), HasSubstr("): create it\n")));
    const auto unwritable = run({"store", "init", "--store", "sqlite:/proc/longhold.db"});
    EXPECT_NE(unwritable.code, ExitCode::done);
    EXPECT_THAT(unwritable.errors, AllOf(StartsWith("longhold: "), HasSubstr("/proc"),
                                         HasSubstr("(creating the store sqlite:/proc/longhold.db")));
    EXPECT_EQ(run({"store", "init", "--store", "memory:"}).code, ExitCode::usage);
}

TEST_F(StoreCommands, AStoreOfANewerReleaseIsRefusedWithBothVersions) {
    ASSERT_EQ(store({"init"}).code, ExitCode::done);
    execute("UPDATE longhold_schema SET schema_version = 9, min_compatible_version = 8");
    for (const auto* const command : {"init", "check", "migrate", "dump"}) {
        const auto ran = store({command});
        EXPECT_EQ(ran.code, ExitCode::failed) << command;
        EXPECT_THAT(ran.errors, AllOf(HasSubstr("has schema version 9 and needs programs of schema version 8"),
                                      HasSubstr("this one has 1"), HasSubstr("newer release")));
    }
}

TEST_F(StoreCommands, CheckCountsAndFailsOnProblems) {
    EXPECT_THAT(store({"check"}).errors, HasSubstr("store init"));
    ASSERT_EQ(store({"init"}).code, ExitCode::done);
    ASSERT_EQ(run({"connection", "put", "a", "--url", "ws://h/", "--store", "sqlite:" + directory_ + "/store.db"}).code,
              ExitCode::done);
    const auto sound = store({"check"});
    EXPECT_EQ(sound.code, ExitCode::done) << sound.errors;
    EXPECT_THAT(sound.output, AllOf(HasSubstr("\nintegrity       ok\n"), HasSubstr("1 STARTED"),
                                    HasSubstr("\nproblems        none\n")));
    EXPECT_THAT(store({"check", "-o", "json"}).output,
                AllOf(StartsWith("{\"store\":\"sqlite:"), HasSubstr("\"connections\":{\"DELETED\":0,\"STARTED\":1,"),
                      HasSubstr("\"problems\":[]}\n")));
    execute("INSERT INTO cursor_page (namespace, session, number, entries) VALUES ('default', 'gone', 1, '[]')");
    const auto damaged = store({"check"});
    EXPECT_EQ(damaged.code, ExitCode::failed);
    EXPECT_THAT(damaged.errors, HasSubstr("longhold: 1 cursor pages belong to sessions that do not exist"));
    EXPECT_EQ(store({"check", "-o", "json"}).code, ExitCode::failed);
}

TEST_F(StoreCommands, AConnectionIsShownWithTheWorkerThatOwnsIt) {
    ASSERT_EQ(store({"init"}).code, ExitCode::done);
    const std::string url = "sqlite:" + directory_ + "/store.db";
    ASSERT_EQ(run({"connection", "put", "a", "--url", "ws://h/", "--store", url}).code, ExitCode::done);
    execute(
        "INSERT INTO session VALUES ('default', 's-1', 'worker-7', 1, 't', 6000000000, 1000000000, 'ACTIVE', 0, 9, 1, "
        "0, '1', 'z', 'h:1'); UPDATE connection SET owner = 's-1'");
    EXPECT_THAT(run({"connection", "list", "--store", url}).output, HasSubstr("  worker-7 (s-1)  "));
    EXPECT_THAT(run({"connection", "get", "a", "--store", url}).output, HasSubstr(" worker-7 (s-1)\n"));
    EXPECT_THAT(run({"connection", "get", "a", "-o", "json", "--store", url}).output,
                HasSubstr(R"("owner":"s-1","worker":"worker-7",)"));
    execute("DELETE FROM session");
    EXPECT_THAT(run({"connection", "list", "--store", url}).output, HasSubstr("  s-1  "));
    EXPECT_THAT(run({"connection", "list", "-o", "ndjson", "--store", url}).output,
                HasSubstr(R"("owner":"s-1","worker":null,)"));
}

TEST_F(StoreCommands, MigrateSaysBeforeAndAfter) {
    ASSERT_EQ(store({"init"}).code, ExitCode::done);
    const auto ran = store({"migrate"});
    EXPECT_EQ(ran.code, ExitCode::done);
    EXPECT_THAT(ran.output, ContainsRegex("BEFORE +AFTER\nschema version +1 +1\n"));
    EXPECT_THAT(ran.errors, HasSubstr("nothing to migrate"));
}

TEST_F(StoreCommands, DumpPrintsOneDocument) {
    ASSERT_EQ(store({"init"}).code, ExitCode::done);
    const auto ran = store({"dump"});
    EXPECT_EQ(ran.code, ExitCode::done);
    EXPECT_THAT(ran.output, AllOf(StartsWith("{"), HasSubstr("\"default\"")));
    EXPECT_TRUE(ran.output.ends_with("}\n"));
}

// ---- docs/cli.md ----------------------------------------------------------------------------------------------------

// The cells of the page's table: command and example.
std::vector<std::pair<std::string, std::string>> documented_commands() {
    std::ifstream page{std::string{LONGHOLD_SOURCE_DIR} + "/docs/cli.md"};
    std::vector<std::pair<std::string, std::string>> rows;
    constexpr std::string_view begin = "| `longhold ";
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with(begin)) {
            const auto end = line.find('`', begin.size());
            const auto example = line.rfind("| `") + 3;
            rows.emplace_back(line.substr(begin.size(), end - begin.size()),
                              line.substr(example, line.rfind('`') - example));
        }
    }
    return rows;
}

TEST(CliPage, ListsEveryCommandAndNoOther) {
    std::set<std::string> documented;
    for (const auto& [command, example] : documented_commands()) {
        EXPECT_TRUE(documented.insert(command).second) << command << " is listed twice";
    }
    std::set<std::string> real;
    for (const auto& command : all_commands()) {
        real.insert(command.path);
    }
    EXPECT_EQ(documented, real);
}

TEST(CliPage, ExamplesNameTheirCommandAndOptionsThatItHas) {
    const Registry registry = all_commands();
    for (const auto& [path, example] : documented_commands()) {
        EXPECT_THAT(example, HasSubstr("longhold " + path));
        const auto command = std::ranges::find(registry, path, &Command::path);
        ASSERT_NE(command, registry.end()) << path;
        std::istringstream words{example};
        for (std::string word; words >> word;) {
            if (word.starts_with("--")) {
                EXPECT_TRUE(std::ranges::any_of(command->options,
                                                [&](const OptionSpec& option) { return "--" + option.name == word; }))
                    << path << " has no option " << word;
            }
        }
    }
}

}  // namespace
}  // namespace longhold::app
