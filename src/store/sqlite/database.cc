// SPDX-License-Identifier: Apache-2.0
#include "database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>

namespace longhold::store {
namespace {

using namespace std::chrono_literals;

constexpr int progress_steps = 1000;  // virtual machine steps between two looks at the limit

void sleep_for(Duration duration) {
    const timespec time{.tv_sec = 0, .tv_nsec = duration.count()};
    ::nanosleep(&time, nullptr);
}

// Says what is wrong with a path before SQLite does in fewer words.
std::optional<Error> wrong_path(const std::string& path, Database::Missing missing) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path folder = fs::absolute(path, ignored).parent_path();
    if (fs::is_directory(path, ignored)) {
        return Error{Errc::invalid, "the store " + path + " is a directory; name a file in it"};
    }
    if (!fs::is_directory(folder, ignored)) {
        return Error{Errc::not_found, "the directory " + folder.string() +
                                          " of the store does not exist (or may not be read); create it"};
    }
    const bool there = fs::exists(path, ignored);
    if (!there && missing == Database::Missing::refuse) {
        return Error{Errc::not_found, "there is no store at " +
                                          fs::absolute(path, ignored).lexically_normal().string() +
                                          "; create it with `longhold store init`"};
    }
    if (there && ::access(path.c_str(), R_OK | W_OK) != 0) {
        return Error{Errc::invalid, "the store " + path + " is not readable and writable by this user"};
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        return Error{Errc::invalid,
                     "the directory " + folder.string() +
                         " of the store is not writable by this user; the store keeps its log beside it"};
    }
    return std::nullopt;
}

std::string what_to_do(int primary, const std::string& path) {
    switch (primary) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return "the store " + path + " is locked by another process";
        case SQLITE_INTERRUPT:
            return "the store " + path + " took longer than the deadline";
        case SQLITE_FULL:
            return "the disk of the store " + path + " is full";
        case SQLITE_CORRUPT:
            return "the store " + path + " is damaged; stop the fleet and restore it from a copy";
        case SQLITE_NOTADB:
            return "the file " + path + " is not an SQLite database";
        case SQLITE_READONLY:
            return "the store " + path + " cannot be written by this user";
        default:
            return "the store " + path + " failed";
    }
}

Errc sort(int primary) {
    switch (primary) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_ERROR:
        case SQLITE_SCHEMA:
        case SQLITE_MISMATCH:
        case SQLITE_CONSTRAINT:
            return Errc::corrupt;
        default:
            return Errc::unavailable;
    }
}

}  // namespace

// ---- Query, Statement

Result<bool> Query::next() {
    const int code = bind_failure_ != SQLITE_OK ? bind_failure_ : sqlite3_step(statement_);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        return code == SQLITE_ROW;
    }
    return std::unexpected(database_.failure(code));
}

Result<void> Query::run() {
    if (auto row = next(); !row) {
        return std::unexpected(std::move(row.error()));
    }
    return {};
}

std::string_view Query::text(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string_view{} : std::string_view{data, size};
}

std::uint64_t Query::number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

bool Query::is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int Statement::bind(int index, std::string_view text) {
    const char* data = text.empty() ? "" : text.data();  // a null pointer would be SQL's NULL
    return sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

int Statement::bind(int index, std::uint64_t number) {
    return bind(index, static_cast<std::int64_t>(number));
}

int Statement::bind(int index, std::int64_t number) {
    return sqlite3_bind_int64(statement_.get(), index, number);
}

int Statement::bind(int index, std::nullptr_t) {
    return sqlite3_bind_null(statement_.get(), index);
}

// ---- Database

Database::Database(std::string path, Duration poll_max) : path_(std::move(path)), poll_max_(poll_max) {}

Database::~Database() {
    sqlite3_close_v2(handle_);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Missing missing, Duration poll_max,
                                                 const Limit& limit) {
    if (auto wrong = wrong_path(path, missing)) {
        return std::unexpected(std::move(*wrong));
    }
    std::unique_ptr<Database> database{new Database{path, poll_max}};
    const int create = missing == Missing::create ? SQLITE_OPEN_CREATE : 0;
    // NOMUTEX: one thread at a time. The leading "./" keeps SQLite from reading names like ":memory:" its own way.
    const std::string name = path.starts_with('/') ? path : "./" + path;
    const int code = sqlite3_open_v2(name.c_str(), &database->handle_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, nullptr);
    if (code != SQLITE_OK) {
        return std::unexpected(database->failure(code));
    }
    if (auto ready = database->set_up(limit); !ready) {
        return std::unexpected(std::move(ready.error()));
    }
    return database;
}

Result<void> Database::set_up(const Limit& limit) {
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_handler(handle_, on_busy, this);
    sqlite3_progress_handler(handle_, progress_steps, on_progress, this);
    set_limit(&limit);
    auto done = use_wal(limit);
    if (done) {
        done = execute("PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA journal_size_limit=67108864;");
    }
    set_limit(nullptr);
    struct stat status{};
    if (done && ::stat(path_.c_str(), &status) == 0) {
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
    return done;
}

// SQLite gives up on this switch at once, without asking on_busy(), when two connections want it together.
Result<void> Database::use_wal(const Limit& limit) {
    for (;;) {
        const auto mode = text("PRAGMA journal_mode=WAL");
        if (mode && *mode == "wal") {
            return {};
        }
        if (mode) {
            return std::unexpected(Error{Errc::invalid, "the file system of the store " + path_ +
                                                            " has no shared memory, which SQLite's WAL mode needs"});
        }
        if (mode.error().code != Errc::unavailable || limit.over()) {
            return std::unexpected(mode.error());
        }
        sleep_for(5ms);
    }
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
    if (code != SQLITE_OK) {
        return std::unexpected(failure(code));
    }
    return Statement{*this, statement};
}

Result<void> Database::execute(const std::string& sql) {
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        return std::unexpected(failure(code));
    }
    return {};
}

Result<std::uint64_t> Database::number(const std::string& sql) {
    auto statement = prepare(sql);
    if (!statement) {
        return std::unexpected(std::move(statement.error()));
    }
    auto query = statement->query();
    if (auto row = query.next(); !row) {
        return std::unexpected(std::move(row.error()));
    }
    return query.number(0);
}

Result<std::string> Database::text(const std::string& sql) {
    auto statement = prepare(sql);
    if (!statement) {
        return std::unexpected(std::move(statement.error()));
    }
    auto query = statement->query();
    if (auto row = query.next(); !row) {
        return std::unexpected(std::move(row.error()));
    }
    return std::string{query.text(0)};
}

Result<void> Database::begin_write() {
    if (!is_still_there()) {
        return std::unexpected(
            Error{Errc::unavailable,
                  "the store " + path_ + " was moved, removed or replaced while open; restart after putting it back"});
    }
    return execute("BEGIN IMMEDIATE");
}

Result<void> Database::commit() {
    if (limit_over()) {
        rollback();
        return std::unexpected(failure(SQLITE_INTERRUPT));
    }
    const int code = sqlite3_exec(handle_, "COMMIT", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) {
        return {};
    }
    Error error = failure(code);
    rollback();
    return std::unexpected(std::move(error));
}

void Database::rollback() {
    const Limit* const limit = std::exchange(limit_, nullptr);  // must not be interrupted
    if (sqlite3_get_autocommit(handle_) == 0) {
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    limit_ = limit;
}

Error Database::failure(int code) const {
    const int primary = code & 0xff;
    std::string detail = what_to_do(primary, path_);
    const bool said = primary == SQLITE_NOTADB || primary == SQLITE_INTERRUPT;
    if (!said && handle_ != nullptr) {
        detail += std::string{": "} + sqlite3_errmsg(handle_) + " (SQLite code " + std::to_string(code) + ")";
    }
    return {sort(primary), std::move(detail)};
}

bool Database::is_still_there() const {
    struct stat status{};
    return ::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

int Database::on_busy(void* self, int tries) {
    const auto& database = *static_cast<Database*>(self);
    if (database.limit_ == nullptr || database.limit_->over()) {
        return 0;
    }
    sleep_for(std::min(database.poll_max_, (tries + 1) * Duration{1ms}));
    return 1;
}

int Database::on_progress(void* self) {
    return static_cast<Database*>(self)->limit_over() ? 1 : 0;
}

}  // namespace longhold::store
