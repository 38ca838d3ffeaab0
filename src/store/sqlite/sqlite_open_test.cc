// SPDX-License-Identifier: Apache-2.0
// Opening a SQLite store: paths and files that cannot be one, schema versions, and two processes at once.
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>

#include "../store_url.h"
#include "sqlite_admin.h"
#include "sqlite_store.h"
#include "sqlite_world_test.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;
using contract::Handle;
using contract::is_done;
using contract::session_row;

// ---- URLs and paths

struct UrlCase {
    std::string name;
    std::string url;
    std::string path;  // empty: the URL is invalid
};

class StoreUrlTable : public testing::TestWithParam<UrlCase> {};

TEST_P(StoreUrlTable, GivesThePathOrSaysWhatIsWrong) {
    StoreOptions options;
    options.url = GetParam().url;
    const auto url = parse_store_url(options);
    if (!GetParam().path.empty()) {
        ASSERT_TRUE(url.has_value()) << url.error().detail;
        EXPECT_EQ(url->path, GetParam().path);
        return;
    }
    ASSERT_FALSE(url.has_value());
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_NE(url.error().detail.find("\"" + GetParam().url + "\""), std::string::npos) << url.error().detail;
    EXPECT_NE(url.error().detail.find("sqlite:PATH"), std::string::npos) << url.error().detail;
}

INSTANTIATE_TEST_SUITE_P(Table, StoreUrlTable,
                         testing::Values(UrlCase{"relative", "sqlite:longhold.db", "longhold.db"},
                                         UrlCase{"in_a_folder", "sqlite:a/b.db", "a/b.db"},
                                         UrlCase{"absolute", "sqlite:/var/lib/x.db", "/var/lib/x.db"},
                                         UrlCase{"absolute_with_slashes", "sqlite:///var/lib/x.db", "/var/lib/x.db"},
                                         UrlCase{"host", "sqlite://host/x.db", ""}, UrlCase{"no_path", "sqlite:", ""},
                                         UrlCase{"folder", "sqlite:a/", ""},
                                         UrlCase{"parameters", "sqlite:a.db?mode=ro", ""},
                                         UrlCase{"in_memory", "sqlite::memory:", ""},
                                         UrlCase{"unknown_scheme", "mysql://host/x", ""},
                                         UrlCase{"no_scheme", "longhold.db", ""}, UrlCase{"empty", "", ""}),
                         [](const auto& test) { return test.param.name; });

TEST(StoreUrl, AnUnknownSchemeIsAnsweredWithTheSchemesOfThisBuild) {
    StoreOptions options;
    options.url = "mysql://host/x";
    const std::string detail = parse_store_url(options).error().detail;
    for (const std::string& scheme : store_schemes()) {
        EXPECT_NE(detail.find(scheme + ":"), std::string::npos) << detail;
    }
}

TEST(StoreUrl, NamespacesAndBucketsAreChecked) {
    for (const std::string ns : {"", "a b", "a/b", "\xC3\xA9"}) {
        EXPECT_FALSE(parse_store_url({.url = "memory:", .ns = ns}).has_value()) << ns;
    }
    EXPECT_TRUE(parse_store_url({.url = "memory:", .ns = "eu-1.blue_2"}).has_value());
    EXPECT_FALSE(parse_store_url({.url = "memory:", .ns = std::string(65, 'a')}).has_value());
    EXPECT_FALSE(parse_store_url({.url = "memory:", .buckets = 0}).has_value());
    EXPECT_FALSE(parse_store_url({.url = "memory:", .buckets = 1025}).has_value());
}

using SqliteOpenTest = SqliteTest;

void expect_refusal(const Error& error, Errc code, const std::string& words) {
    EXPECT_EQ(error.code, code) << error.detail;
    EXPECT_NE(error.detail.find(words), std::string::npos) << error.detail;
}

TEST_F(SqliteOpenTest, APathThatCannotBeAStoreIsSaidSo) {
    expect_refusal(refusal(options("absent/store.db")), Errc::not_found, "/absent of the store does not exist");
    std::filesystem::create_directory(folder_.path("folder"));
    expect_refusal(refusal(options("folder")), Errc::invalid, "is a directory");
    std::ofstream{folder_.path("text")} << "this is certainly no database, but it is longer than a header of one is";
    expect_refusal(refusal(options("text")), Errc::corrupt, "is not an SQLite database");
    Intruder{folder_.path("other.db")}.run("CREATE TABLE theirs (x)");
    expect_refusal(refusal(options("other.db")), Errc::invalid, "holds another program's tables");
}

TEST_F(SqliteOpenTest, ADamagedFileIsSaidSo) {
    {
        Handle create = handle(options());
    }
    std::fstream file{folder_.path("store.db"), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(100);
    file << std::string(400, '\xEE');
    file.close();
    expect_refusal(refusal(options()), Errc::corrupt, "is damaged");
}

// Runs as somebody who may not write, since these tests may run as a user who may write anywhere.
TEST_F(SqliteOpenTest, AFolderOrFileThatMayNotBeWrittenIsSaidSo) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs to become another user";
    }
    {
        Handle create = handle(options("kept.db"));
    }
    ::chmod(folder_.path().c_str(), 0755);
    ::chmod(folder_.path("kept.db").c_str(), 0644);
    const pid_t child = in_child([&] {
        if (::setresuid(65534, 65534, 65534) != 0) {
            return 10;
        }
        const Error fresh = refusal(options("fresh.db"));
        const Error kept = refusal(options("kept.db"));
        if (fresh.code != Errc::invalid || fresh.detail.find("is not writable by this user") == std::string::npos) {
            return 11;
        }
        return kept.code == Errc::invalid && kept.detail.find("is not readable and writable") != std::string::npos ? 0
                                                                                                                   : 12;
    });
    EXPECT_EQ(exit_status(child), 0);
}

TEST_F(SqliteOpenTest, MustExistCreatesNothing) {
    auto existing = options();
    existing.must_exist = true;
    expect_refusal(refusal(existing), Errc::not_found, "store init");
    EXPECT_FALSE(std::filesystem::exists(folder_.path("store.db")));
    std::ofstream{folder_.path("store.db")};
    expect_refusal(refusal(existing), Errc::not_found, "holds no store yet");
    {
        Handle create = handle(options());
    }
    {
        Handle open = handle(existing);
    }
    existing.ns = "other";
    expect_refusal(refusal(existing), Errc::not_found, "no namespace other");
}

TEST_F(SqliteOpenTest, NamespacesOfOneFileDoNotSeeEachOther) {
    auto blue_options = options();
    blue_options.ns = "blue";
    blue_options.buckets = 4;
    Handle blue = handle(blue_options);
    Handle green = handle(options());
    EXPECT_EQ(blue(blue->info(blue.soon()))->buckets, 4U);
    EXPECT_EQ(green(green->info(green.soon()))->buckets, 16U);
    EXPECT_TRUE(is_done(blue(blue->join({.row = session_row("s1")}, blue.soon()))));
    EXPECT_TRUE(
        is_done(blue(blue->put_connection({.id = ConnectionId{"c1"}, .labels = {}, .spec = "{}"}, blue.soon()))));
    EXPECT_TRUE(green(green->list_sessions(green.soon()))->empty());
    EXPECT_TRUE(green(green->list_connections({}, true, ConnectionId{}, 10, green.soon()))->rows.empty());
    EXPECT_TRUE(is_done(green(green->join({.row = session_row("s1")}, green.soon()))));
}

TEST_F(SqliteOpenTest, BucketsStayAsTheyWereAtTheStart) {
    {
        Handle create = handle(options());
    }
    auto more = options();
    more.buckets = 64;
    Handle again = handle(more);
    EXPECT_EQ(again(again->info(again.soon()))->buckets, 16U);
}

// ---- schema versions

TEST_F(SqliteOpenTest, ANewerSchemaOpensUnlessItNeedsANewerProgram) {
    {
        Handle create = handle(options());
    }
    Intruder later{folder_.path("store.db")};
    later.run("ALTER TABLE session ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'");
    later.run("UPDATE longhold_schema SET schema_version = 99, min_compatible_version = 1");
    {
        Handle open = handle(options());
        EXPECT_EQ(open(open->info(open.soon()))->schema_version, 99U);
        EXPECT_TRUE(is_done(open(open->join({.row = session_row("s1")}, open.soon()))));
    }
    later.run("UPDATE longhold_schema SET min_compatible_version = 99");
    const Error error = refusal(options());
    EXPECT_EQ(error.code, Errc::incompatible);
    for (const std::string words : {"99", "this one has 1", "install a newer release"}) {
        EXPECT_NE(error.detail.find(words), std::string::npos) << error.detail;
    }
}

// What this program might become: an additive migration, one that shuts out older programs, and one after it.
std::vector<Migration> later_migrations(std::size_t count) {
    std::vector<Migration> all{sqlite_migrations().begin(), sqlite_migrations().end()};
    const std::uint32_t last = all.back().version;
    const std::array<Migration, 3> more{{
        {last + 1, 1, "ALTER TABLE session ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';"},
        {last + 2, last + 2, "ALTER TABLE session DROP COLUMN mood; CREATE TABLE moods (x);"},
        {last + 3, last + 2, "CREATE TABLE more_moods (x);"},
    }};
    all.insert(all.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(count));
    return all;
}

Handle open_with(const std::string& path, const StoreOptions& options, Migrations migrations) {
    return Handle{[&](runtime::Loop& loop) {
        auto store = open_sqlite_store(path, options, migrations, loop);
        if (!store) {
            ADD_FAILURE() << store.error().detail;
            std::abort();
        }
        return std::move(*store);
    }};
}

StoreInfo info_of(Handle& store) {
    return store(store->info(store.soon())).value_or(StoreInfo{});
}

TEST_F(SqliteOpenTest, AStartExpandsAnOlderSchemaAndKeepsItsRows) {
    const std::string path = folder_.path("store.db");
    Handle old = handle(options());
    EXPECT_TRUE(is_done(old(old->join({.row = session_row("s1")}, old.soon()))));
    Handle young = open_with(path, options(), later_migrations(1));
    EXPECT_EQ(info_of(young).schema_version, 2U);
    EXPECT_EQ(info_of(young).min_compatible_version, 1U);
    EXPECT_EQ(young(young->list_sessions(young.soon()))->size(), 1U);
    EXPECT_TRUE(is_done(old(old->join({.row = session_row("s2")}, old.soon())))) << "the older program goes on";
    Handle old_again = handle(options());
    EXPECT_EQ(info_of(old_again).schema_version, 2U);
}

TEST_F(SqliteOpenTest, AStartLeavesMigrationsThatShutOthersOutToTheOperator) {
    const std::string path = folder_.path("store.db");
    {
        Handle old = handle(options());
    }
    const auto later = later_migrations(3);
    const auto same = options();
    {
        Handle young = open_with(path, same, later);
        EXPECT_EQ(info_of(young).schema_version, 2U) << "and what follows them waits too";
    }
    SqliteAdmin admin{path, same, later, clock_};
    const auto report = admin.migrate();
    ASSERT_TRUE(report.has_value()) << report.error().detail;
    EXPECT_EQ(report->before.schema_version, 2U);
    EXPECT_EQ(report->after.schema_version, 4U);
    EXPECT_EQ(report->after.min_compatible_version, 3U);
    EXPECT_EQ(refusal(options()).code, Errc::incompatible);
    Handle young = open_with(path, same, later);
    EXPECT_EQ(info_of(young).schema_version, 4U);
}

TEST_F(SqliteOpenTest, AFailedMigrationChangesNothing) {
    {
        Handle old = handle(options());
    }
    auto broken = later_migrations(1);
    broken.push_back({3, 1, "CREATE TABLE half (x); CREATE TABLE half (x);"});
    runtime::Loop loop{clock_};
    EXPECT_FALSE(open_sqlite_store(folder_.path("store.db"), options(), broken, loop).has_value());
    Handle old = handle(options());
    EXPECT_EQ(info_of(old).schema_version, 1U);
    Intruder{folder_.path("store.db")}.run("CREATE TABLE half (x)");
}

// ---- several processes

TEST_F(SqliteOpenTest, ProcessesThatCreateAndMigrateAtOnceAgree) {
    const auto later = later_migrations(1);
    for (int round = 0; round < 5; ++round) {
        const auto same = options("store" + std::to_string(round) + ".db");
        const std::string path = folder_.path("store" + std::to_string(round) + ".db");
        std::array<pid_t, 4> children{};
        for (std::size_t i = 0; i < children.size(); ++i) {
            children[i] = in_child([&] {
                runtime::Loop loop{clock_};
                const auto store = i % 2 == 0 ? open_sqlite_store(path, same, later, loop) : open_store(same, loop);
                return store ? 0 : 1;
            });
        }
        for (const pid_t child : children) {
            EXPECT_EQ(exit_status(child), 0);
        }
        Handle store = open_with(path, same, later);
        EXPECT_EQ(info_of(store).schema_version, 2U);
    }
}

// Puts connections for ever, and tells the pipe of each one that is done.
int put_for_ever(const StoreOptions& options, int pipe) {
    Handle store{[&](runtime::Loop& loop) { return std::move(*open_store(options, loop)); }};
    for (int i = 0;; ++i) {
        const auto outcome = store(store->put_connection(
            {.id = ConnectionId{contract::numbered("c", i)}, .labels = {}, .spec = "{}"}, store.soon()));
        if (outcome.verdict != core::Verdict::done || ::write(pipe, "x", 1) != 1) {
            return 1;
        }
    }
}

TEST_F(SqliteOpenTest, AKilledWriterLosesNothingThatWasDone) {
    for (int round = 0; round < 3; ++round) {
        const auto same = options("store" + std::to_string(round) + ".db");
        std::array<int, 2> ends{};
        ASSERT_EQ(::pipe(ends.data()), 0);
        const pid_t child = in_child([&] { return put_for_ever(same, ends[1]); });
        ::close(ends[1]);
        std::size_t done = 0;
        char byte = 0;
        while (done < 30 && ::read(ends[0], &byte, 1) == 1) {
            ++done;
        }
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        while (::read(ends[0], &byte, 1) == 1) {
            ++done;
        }
        ::close(ends[0]);
        Handle store = handle(same);
        const auto rows = store(store->list_connections({}, true, ConnectionId{}, 100'000, store.soon()));
        ASSERT_TRUE(rows.has_value());
        EXPECT_GE(done, 30U);
        EXPECT_GE(rows->rows.size(), done);
        EXPECT_LE(rows->rows.size(), done + 1) << "at most the one that was not told yet";
        EXPECT_TRUE(is_done(store(store->join({.row = session_row("s1")}, store.soon()))));
    }
}

}  // namespace
}  // namespace longhold::store
