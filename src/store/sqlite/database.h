// SPDX-License-Identifier: Apache-2.0
// Database: one SQLite connection to a store file, with waits that end at a Limit, and its prepared statements.
//
// A lock that another process holds is polled until the limit is over, then the call answers `unavailable`; a long read
// is interrupted there too. Thread-safety: none; one thread at a time.
#pragma once

#include <longhold/store/store.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../limit.h"

namespace longhold::store {

class Database;

// One execution of a statement; ends it (and its read lock) when it goes. The bound texts outlive it.
class Query {
public:
    ~Query() { sqlite3_reset(statement_); }

    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    // Whether there is a (further) row.
    [[nodiscard]] Result<bool> next();
    // For statements without rows.
    [[nodiscard]] Result<void> run();

    // The columns of the row that next() found, from 0.
    [[nodiscard]] std::string_view text(int column) const;
    [[nodiscard]] std::uint64_t number(int column) const;
    [[nodiscard]] bool is_null(int column) const;

private:
    friend class Statement;

    Query(const Database& database, sqlite3_stmt* statement, int bind_failure)
        : database_(database), statement_(statement), bind_failure_(bind_failure) {}

    const Database& database_;
    sqlite3_stmt* statement_;
    int bind_failure_;
};

// A prepared statement. The Database outlives it.
class Statement {
public:
    Statement() = default;

    Statement(const Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}

    // Binds the values to ?1, ?2, … : texts, whole numbers, nullptr. One query of a statement at a time.
    template <class... Values>
    [[nodiscard]] Query query(const Values&... values) {
        int index = 0;
        int failure = SQLITE_OK;
        ((failure = failure == SQLITE_OK ? bind(++index, values) : failure), ...);
        return Query{*database_, statement_.get(), failure};
    }

private:
    int bind(int index, std::string_view text);
    int bind(int index, std::uint64_t number);
    int bind(int index, std::int64_t number);
    int bind(int index, std::nullptr_t);

    int bind(int index, const std::string& text) { return bind(index, std::string_view{text}); }

    int bind(int index, std::uint32_t number) { return bind(index, std::uint64_t{number}); }

    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };

    const Database* database_ = nullptr;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
public:
    enum class Missing : std::uint8_t { create, refuse };

    // `poll_max`: the longest sleep between two looks at a lock that somebody else holds.
    // Errors: `not_found`, `invalid` (a path that cannot be a store), `corrupt` (not a database), `unavailable`.
    [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path, Missing missing,
                                                                Duration poll_max, const Limit& limit);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    // Null: waits for ever. It outlives its use.
    void set_limit(const Limit* limit) { limit_ = limit; }

    [[nodiscard]] bool limit_over() const { return limit_ != nullptr && limit_->over(); }

    [[nodiscard]] Result<Statement> prepare(std::string_view sql);
    // Runs statements that take and give nothing.
    [[nodiscard]] Result<void> execute(const std::string& sql);
    // The first column of the only row of `sql`.
    [[nodiscard]] Result<std::uint64_t> number(const std::string& sql);
    [[nodiscard]] Result<std::string> text(const std::string& sql);

    // Takes the write lock. Errors: `unavailable`, also when the file at the path is no longer the one that was opened.
    [[nodiscard]] Result<void> begin_write();
    // Ends the transaction in any case; after an error its writes may or may not hold.
    [[nodiscard]] Result<void> commit();
    void rollback();

    // Rows changed by the last statement that wrote.
    [[nodiscard]] std::uint64_t changes() const { return static_cast<std::uint64_t>(sqlite3_changes64(handle_)); }

    // What `code` and the connection say about the last failure.
    [[nodiscard]] Error failure(int code) const;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    Database(std::string path, Duration poll_max);
    [[nodiscard]] Result<void> set_up(const Limit& limit);
    [[nodiscard]] Result<void> use_wal(const Limit& limit);
    [[nodiscard]] bool is_still_there() const;
    static int on_busy(void* self, int tries);
    static int on_progress(void* self);

    std::string path_;
    Duration poll_max_;
    sqlite3* handle_ = nullptr;
    const Limit* limit_ = nullptr;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace longhold::store
