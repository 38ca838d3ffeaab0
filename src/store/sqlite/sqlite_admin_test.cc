// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include <chrono>

#include "sqlite_world_test.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;
using contract::Handle;
using contract::is_done;
using contract::session_row;

class SqliteAdminTest : public SqliteTest {
protected:
    // Two sessions (one fenced), an owned, a free, a stopped and a deleted connection, and a page.
    void fill(const StoreOptions& options) {
        Handle store = handle(options);
        for (const std::string id : {"s2", "s1"}) {
            EXPECT_TRUE(is_done(store(store->join({.row = session_row(id)}, store.soon()))));
        }
        EXPECT_TRUE(is_done(store(store->fence(
            {.session = SessionId{"s2"}, .counter_expected = 0, .attempt = AttemptToken{"f"}}, store.soon()))));
        for (const std::string id : {"free", "owned", "stopped", "deleted"}) {
            const PutConnection verb{
                .id = ConnectionId{id}, .labels = {{"name", id}}, .spec = R"({"url": "wss://x.test/", "n": [1]})"};
            const auto row = store(store->put_connection(verb, store.soon()));
            if (id == "owned") {
                auto claim = contract::claim_of(*row.row, "s1");
                claim.cursor = contract::cursor_at(0, 5, "at \"5\"");
                EXPECT_TRUE(is_done(store(store->claim({claim}, store.soon())).front()));
            }
        }
        EXPECT_TRUE(
            is_done(store(store->set_desired(ConnectionId{"stopped"}, core::DesiredState::stopped, store.soon()))));
        EXPECT_TRUE(
            is_done(store(store->set_desired(ConnectionId{"deleted"}, core::DesiredState::deleted, store.soon()))));
        const core::CursorPage page{.session = SessionId{"s1"},
                                    .number = 3,
                                    .entries = {{ConnectionId{"owned"}, contract::cursor_at(1, 6, "six")}}};
        EXPECT_TRUE(store(store->write_cursor_page(page, store.soon())).has_value());
    }
};

TEST_F(SqliteAdminTest, InitCreatesOnce) {
    auto wanted = options();
    wanted.buckets = 5;
    const auto info = admin::init(wanted, clock_);
    ASSERT_TRUE(info.has_value()) << info.error().detail;
    EXPECT_EQ(info->buckets, 5U);
    EXPECT_EQ(info->epoch_floor, 0U);
    const auto again = admin::init(wanted, clock_);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, Errc::exists);
    wanted.ns = "other";
    EXPECT_TRUE(admin::init(wanted, clock_).has_value());
}

TEST_F(SqliteAdminTest, NothingIsAdministeredThatIsNotThere) {
    EXPECT_EQ(admin::check(options(), clock_).error().code, Errc::not_found);
    EXPECT_EQ(admin::migrate(options(), clock_).error().code, Errc::not_found);
    EXPECT_EQ(admin::dump(options(), clock_).error().code, Errc::not_found);
    EXPECT_EQ(admin::remove_namespace(options(), false, clock_).error().code, Errc::not_found);
    EXPECT_FALSE(std::filesystem::exists(folder_.path("store.db")));
    StoreOptions memory;
    memory.url = "memory:";
    EXPECT_EQ(admin::dump(memory, clock_).error().code, Errc::invalid);
}

TEST_F(SqliteAdminTest, CheckCountsAndMeasures) {
    fill(options());
    const auto report = admin::check(options(), clock_);
    ASSERT_TRUE(report.has_value()) << report.error().detail;
    EXPECT_EQ(report->info.schema_version, report->program_version);
    EXPECT_EQ(report->sessions,
              (std::map<std::string, std::uint64_t>{{"ACTIVE", 1}, {"DRAINING", 0}, {"FENCED", 1}, {"LEFT", 0}}));
    EXPECT_EQ(report->connections,
              (std::map<std::string, std::uint64_t>{{"DELETED", 1}, {"STARTED", 2}, {"STOPPED", 1}}));
    EXPECT_EQ(report->owned, 1U);
    EXPECT_EQ(report->orphans, 1U);
    EXPECT_EQ(report->integrity, "ok");
    EXPECT_EQ(report->test_writes, 20U);
    EXPECT_GT(report->write_p50, 0ns);
    EXPECT_GE(report->write_max, report->write_p50);
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
}

TEST_F(SqliteAdminTest, TheTestWritesOfACheckReachTheLogAndChangeNothing) {
    fill(options());
    const auto before = admin::dump(options(), clock_).value();
    Handle store = handle(options());  // keeps the log from being folded in at the check's end
    const auto log_size = [this] {
        std::error_code none;
        const auto size = std::filesystem::file_size(folder_.path("store.db-wal"), none);
        return none ? 0U : size;
    };
    const auto size_before = log_size();
    ASSERT_TRUE(admin::check(options(), clock_).has_value());
    EXPECT_GE(log_size(), size_before + std::uintmax_t{20} * 4096);
    EXPECT_EQ(admin::dump(options(), clock_).value(), before);
}

TEST_F(SqliteAdminTest, CheckFindsWhatIsWrong) {
    fill(options());
    Intruder intruder{folder_.path("store.db")};
    intruder.run("UPDATE connection SET owner = 'off#01' WHERE id = 'free'");
    intruder.run("UPDATE connection SET labels = 'no json' WHERE id = 'owned'");
    intruder.run("UPDATE cursor_page SET session = 'nobody'");
    const auto report = admin::check(options(), clock_);
    ASSERT_TRUE(report.has_value()) << report.error().detail;
    ASSERT_EQ(report->problems.size(), 3U);
    EXPECT_NE(report->problems[0].find("connection owned has an unreadable labels"), std::string::npos);
    EXPECT_NE(report->problems[1].find("1 unowned connections"), std::string::npos);
    EXPECT_NE(report->problems[2].find("1 cursor pages"), std::string::npos);
    Handle store = handle(options());
    const auto rows = store(store->get_connections({ConnectionId{"owned"}}, store.soon()));
    ASSERT_FALSE(rows.has_value());
    EXPECT_EQ(rows.error().code, Errc::corrupt);
}

TEST_F(SqliteAdminTest, DumpIsOneDocumentWithEveryRowInOrder) {
    fill(options());
    const auto text = admin::dump(options(), clock_);
    ASSERT_TRUE(text.has_value()) << text.error().detail;
    simdjson::dom::parser parser;
    const simdjson::dom::element all = parser.parse(*text);
    EXPECT_EQ(std::uint64_t{all["schema_version"]}, 1U);
    EXPECT_EQ(std::string_view{all["namespace"]}, "default");
    EXPECT_EQ(std::uint64_t{all["buckets"]}, 16U);
    EXPECT_EQ(std::uint64_t{all["epoch_floor"]}, 0U);
    EXPECT_EQ(std::string_view{all.at_pointer("/sessions/0/id")}, "s1");
    EXPECT_EQ(std::uint64_t{all.at_pointer("/sessions/0/lease_ms")}, 6000U);
    EXPECT_EQ(std::string_view{all.at_pointer("/sessions/1/state")}, "FENCED");
    std::vector<std::string> order;
    for (const simdjson::dom::element row : simdjson::dom::array{all["connections"]}) {
        order.emplace_back(std::string_view{row["id"]});
    }
    EXPECT_EQ(order, (std::vector<std::string>{"deleted", "free", "owned", "stopped"}));
    EXPECT_TRUE(all.at_pointer("/connections/1/cursor").is_null());
    EXPECT_EQ(std::string_view{all.at_pointer("/connections/2/labels/name")}, "owned");
    EXPECT_EQ(std::string_view{all.at_pointer("/connections/2/owner")}, "s1");
    EXPECT_EQ(std::uint64_t{all.at_pointer("/connections/2/epoch")}, 1U);
    EXPECT_EQ(std::uint64_t{all.at_pointer("/connections/2/spec/n/0")}, 1U);
    EXPECT_EQ(std::string_view{all.at_pointer("/connections/2/cursor/value")}, "at \"5\"");
    EXPECT_EQ(std::uint64_t{all.at_pointer("/cursor_pages/0/number")}, 3U);
    EXPECT_EQ(std::string_view{all.at_pointer("/cursor_pages/0/entries/0/cursor/value")}, "six");
    EXPECT_EQ(admin::dump(options(), clock_), *text) << "the same rows give the same text";
}

TEST_F(SqliteAdminTest, DumpSurvivesASpecThatIsNoJson) {
    fill(options());
    Intruder{folder_.path("store.db")}.run("UPDATE connection SET spec = '{half' WHERE id = 'free'");
    const auto text = admin::dump(options(), clock_);
    ASSERT_TRUE(text.has_value());
    simdjson::dom::parser parser;
    EXPECT_EQ(std::string_view{parser.parse(*text).at_pointer("/connections/1/spec")}, "{half");
}

TEST_F(SqliteAdminTest, MigrateOfACurrentStoreChangesNothing) {
    fill(options());
    const auto report = admin::migrate(options(), clock_);
    ASSERT_TRUE(report.has_value()) << report.error().detail;
    EXPECT_EQ(report->before.schema_version, report->after.schema_version);
}

TEST_F(SqliteAdminTest, RemoveNamespaceSparesLiveFleetsAndOtherNamespaces) {
    auto other = options();
    other.ns = "other";
    fill(options());
    fill(other);
    const auto refused = admin::remove_namespace(options(), false, clock_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::exists);
    EXPECT_NE(refused.error().detail.find("session s1"), std::string::npos) << refused.error().detail;
    EXPECT_EQ(admin::remove_namespace(options(), true, clock_), std::uint64_t{7});
    EXPECT_EQ(admin::dump(options(), clock_).error().code, Errc::not_found);
    const auto report = admin::check(other, clock_);
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->owned, 1U);
}

TEST_F(SqliteAdminTest, RemoveNamespaceNeedsNoForceOnceEverySessionIsFinal) {
    fill(options());
    {
        Handle store = handle(options());
        EXPECT_TRUE(is_done(store(store->leave({.session = SessionId{"s1"}, .attempt = {}}, store.soon()))));
    }
    EXPECT_TRUE(admin::remove_namespace(options(), false, clock_).has_value());
}

TEST_F(SqliteAdminTest, ALockedStoreIsUnavailableWithinItsPatience) {
    fill(options());
    Intruder intruder{folder_.path("store.db")};
    intruder.run("BEGIN IMMEDIATE");
    auto impatient = options();
    impatient.open_within = 100ms;
    const auto report = admin::check(impatient, clock_);
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().code, Errc::unavailable) << report.error().detail;
    EXPECT_TRUE(admin::dump(impatient, clock_).has_value()) << "reading needs no lock";
}

}  // namespace
}  // namespace longhold::store
