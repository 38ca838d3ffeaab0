// SPDX-License-Identifier: Apache-2.0
// What the tests of the SQLite store share: a store file in a folder of its own, and somebody else who holds its lock.
#pragma once

#include <gtest/gtest.h>
#include <longhold/store/admin.h>
#include <longhold/store/open.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "../contract_test.h"
#include "../temporary_folder_test.h"

namespace longhold::store {

// A plain connection to the file, as another program would have.
class Intruder {
public:
    explicit Intruder(const std::string& path) {
        EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
        sqlite3_busy_timeout(handle_, 10'000);
    }

    ~Intruder() { sqlite3_close(handle_); }

    Intruder(const Intruder&) = delete;
    Intruder& operator=(const Intruder&) = delete;

    void run(const std::string& sql) {
        EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle_);
    }

private:
    sqlite3* handle_ = nullptr;
};

class SqliteTest : public testing::Test {
protected:
    [[nodiscard]] StoreOptions options(const std::string& name = "store.db") const {
        StoreOptions options;
        options.url = "sqlite:" + folder_.path(name);
        return options;
    }

    // A handle on the store; stops the test when it cannot be opened.
    [[nodiscard]] static contract::Handle handle(const StoreOptions& options) {
        return contract::Handle{[&](runtime::Loop& loop) {
            auto store = open_store(options, loop);
            if (!store) {
                ADD_FAILURE() << store.error().detail;
                std::abort();
            }
            return std::move(*store);
        }};
    }

    // Why opening fails.
    [[nodiscard]] Error refusal(const StoreOptions& options) const {
        runtime::Loop loop{clock_};
        const auto store = open_store(options, loop);
        return store ? Error{Errc::exists, "it opened"} : store.error();
    }

    TemporaryFolder folder_;
    runtime::SystemClock clock_;
};

// Runs `work` in a child process that ends without the parent's exit handlers; its exit status.
// Requires that no store is open here: a fork copies handles and locks.
template <class Work>
[[nodiscard]] pid_t in_child(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    return child;
}

[[nodiscard]] inline int exit_status(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace longhold::store
