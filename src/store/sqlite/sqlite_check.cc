// SPDX-License-Identifier: Apache-2.0
// SqliteAdmin::check(): what is in a store file, whether it is sound, and how fast it takes writes.
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "sqlite_admin.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t test_writes = 20;
constexpr Duration slow_write = 100ms;
constexpr Duration long_read = 10min;
constexpr std::uint64_t rows_at_a_time = 1000;

constexpr std::array<core::SessionState, 4> session_states{core::SessionState::active, core::SessionState::draining,
                                                           core::SessionState::left, core::SessionState::fenced};
constexpr std::array<core::DesiredState, 3> desired_states{core::DesiredState::started, core::DesiredState::stopped,
                                                           core::DesiredState::deleted};

constexpr std::string_view count_owned =
    "SELECT count(*) FROM connection WHERE namespace = ?1 AND owner NOT GLOB 'none#*' AND owner NOT GLOB 'off#*'";
constexpr std::string_view count_orphans =
    "SELECT count(*) FROM connection c WHERE namespace = ?1 AND desired_state = 'STARTED' AND NOT EXISTS "
    "(SELECT 1 FROM session s WHERE s.namespace = c.namespace AND s.id = c.owner AND s.state IN ('ACTIVE', "
    "'DRAINING'))";
constexpr std::string_view count_misplaced =
    "SELECT count(*) FROM connection WHERE namespace = ?1 AND (owner GLOB 'none#*' AND desired_state <> 'STARTED' OR "
    "owner GLOB 'off#*' AND desired_state = 'STARTED')";
constexpr std::string_view count_lost_pages =
    "SELECT count(*) FROM cursor_page p WHERE namespace = ?1 AND NOT EXISTS "
    "(SELECT 1 FROM session s WHERE s.namespace = p.namespace AND s.id = p.session)";

Result<std::uint64_t> count_rows(Database& database, std::string_view sql, const std::string& ns) {
    auto statement = database.prepare(sql);
    if (!statement) {
        return std::unexpected(std::move(statement.error()));
    }
    auto query = statement->query(ns);
    if (auto row = query.next(); !row) {
        return std::unexpected(std::move(row.error()));
    }
    return query.number(0);
}

// Adds "key: count" for each row of `sql`.
Result<void> count_groups(Database& database, std::string_view sql, const std::string& ns,
                          std::map<std::string, std::uint64_t>& counts) {
    auto statement = database.prepare(sql);
    if (!statement) {
        return std::unexpected(std::move(statement.error()));
    }
    auto query = statement->query(ns);
    for (;;) {
        auto row = query.next();
        if (!row) {
            return std::unexpected(std::move(row.error()));
        }
        if (!*row) {
            return {};
        }
        counts[std::string{query.text(0)}] = query.number(1);
    }
}

bool is_network_file_system(const std::string& path) {
    constexpr std::array<unsigned long, 7> types{NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                                                 CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, V9FS_MAGIC};
    struct statfs status{};
    return ::statfs(path.c_str(), &status) == 0 &&
           std::ranges::find(types, static_cast<unsigned long>(status.f_type)) != types.end();
}

// Reads every row, so that an unreadable one is found now. Its error, or none.
Result<void> read_everything(SqliteRows& rows) {
    if (auto sessions = rows.sessions(); !sessions) {
        return std::unexpected(std::move(sessions.error()));
    }
    ConnectionId after;
    for (;;) {
        const auto page = rows.connections(Selector{}, true, after, rows_at_a_time);
        if (!page) {
            return std::unexpected(page.error());
        }
        if (page->size() < rows_at_a_time) {
            break;
        }
        after = page->back().id;
    }
    if (auto pages = rows.cursor_pages(); !pages) {
        return std::unexpected(std::move(pages.error()));
    }
    return {};
}

}  // namespace

Result<admin::CheckReport> SqliteAdmin::check() {
    auto rows = open_rows();
    if (!rows) {
        return std::unexpected(std::move(rows.error()));
    }
    const auto info = (*rows)->info();
    if (!info) {
        return std::unexpected(info.error());
    }
    admin::CheckReport report;
    report.info = *info;
    report.program_version = migrations_.back().version;
    begin_step((*rows)->database(), long_read);
    auto done = count(**rows, report);
    if (done) {
        done = look_for_damage(**rows, report);
    }
    if (done) {
        begin_step((*rows)->database(), options_.open_within);
        done = time_writes(**rows, report);
    }
    if (!done) {
        return std::unexpected(std::move(done.error()));
    }
    add_problems(report);
    return report;
}

Result<void> SqliteAdmin::count(SqliteRows& rows, admin::CheckReport& report) {
    for (const core::SessionState state : session_states) {
        report.sessions[std::string{core::text(state)}] = 0;
    }
    for (const core::DesiredState state : desired_states) {
        report.connections[std::string{core::text(state)}] = 0;
    }
    Database& database = rows.database();
    auto done = count_groups(database, "SELECT state, count(*) FROM session WHERE namespace = ?1 GROUP BY state",
                             options_.ns, report.sessions);
    if (done) {
        done = count_groups(
            database, "SELECT desired_state, count(*) FROM connection WHERE namespace = ?1 GROUP BY desired_state",
            options_.ns, report.connections);
    }
    if (!done) {
        return done;
    }
    const auto owned = count_rows(database, count_owned, options_.ns);
    const auto orphans = count_rows(database, count_orphans, options_.ns);
    if (!owned || !orphans) {
        return std::unexpected(!owned ? owned.error() : orphans.error());
    }
    report.owned = *owned;
    report.orphans = *orphans;
    return {};
}

Result<void> SqliteAdmin::look_for_damage(SqliteRows& rows, admin::CheckReport& report) {
    Database& database = rows.database();
    auto integrity = database.text("PRAGMA integrity_check(1)");
    if (!integrity) {
        return std::unexpected(std::move(integrity.error()));
    }
    report.integrity = std::move(*integrity);
    if (report.integrity != "ok") {
        report.problems.push_back("the file is damaged (" + report.integrity + "): restore it from a copy");
    }
    if (auto read = read_everything(rows); !read) {
        if (read.error().code != Errc::corrupt) {
            return read;
        }
        report.problems.push_back(read.error().detail);
    }
    const auto misplaced = count_rows(database, count_misplaced, options_.ns);
    const auto lost_pages = count_rows(database, count_lost_pages, options_.ns);
    if (!misplaced || !lost_pages) {
        return std::unexpected(!misplaced ? misplaced.error() : lost_pages.error());
    }
    if (*misplaced != 0) {
        report.problems.push_back(std::to_string(*misplaced) +
                                  " unowned connections lie in a bucket that does not fit their desired state, so "
                                  "polls miss them: stop and start each");
    }
    if (*lost_pages != 0) {
        report.problems.push_back(std::to_string(*lost_pages) + " cursor pages belong to sessions that do not exist");
    }
    return {};
}

Result<void> SqliteAdmin::time_writes(SqliteRows& rows, admin::CheckReport& report) {
    // SQLite writes nothing for a row that stays as it is. So each transaction changes the record and puts it back,
    // which nobody else sees: the page is written to the log and synced all the same.
    auto change = rows.database().prepare("UPDATE fleet SET epoch_floor = epoch_floor + 1 WHERE namespace = ?1");
    if (!change) {
        return std::unexpected(std::move(change.error()));
    }
    auto put_back = rows.database().prepare("UPDATE fleet SET epoch_floor = epoch_floor - 1 WHERE namespace = ?1");
    if (!put_back) {
        return std::unexpected(std::move(put_back.error()));
    }
    std::vector<Duration> took;
    for (std::uint32_t i = 0; i < test_writes; ++i) {
        const Instant began = clock_.now();
        auto done = rows.begin_write();
        if (done) {
            done = change->query(options_.ns).run();
        }
        if (done) {
            done = put_back->query(options_.ns).run();
        }
        if (!done) {
            rows.rollback();
            return done;
        }
        if (auto committed = rows.commit(); !committed) {
            return committed;
        }
        took.push_back(clock_.now() - began);
    }
    std::ranges::sort(took);
    report.test_writes = test_writes;
    report.write_p50 = took[took.size() / 2];
    report.write_max = took.back();
    return {};
}

void SqliteAdmin::add_problems(admin::CheckReport& report) const {
    if (report.info.schema_version < report.program_version) {
        report.problems.push_back("schema version " + std::to_string(report.info.schema_version) +
                                  " is older than this program's " + std::to_string(report.program_version) +
                                  ": run `longhold store migrate` once no older program runs");
    }
    if (is_network_file_system(path_)) {
        report.problems.emplace_back(
            "the file lies on a network file system, where SQLite's locks do not hold: move it to a local disk");
    }
    if (report.write_p50 > slow_write) {
        report.problems.push_back(
            "a write takes " +
            std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(report.write_p50).count()) +
            " ms at the median: the disk is too slow or too busy for heartbeats");
    }
}

}  // namespace longhold::store
