// SPDX-License-Identifier: Apache-2.0
// ChildProcess: a program started by this one, which does not outlive it.
//
// Thread-safety: none. Lifetime: a child that still runs is killed and reaped by the destructor; the kernel kills it
// when this process dies.
#pragma once

#include <sys/types.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace longhold::fleet {

// How a child ended.
struct ChildEnd {
    std::optional<int> exit_code;  // none: a signal ended it
    int signal = 0;
};

class ChildProcess {
public:
    // Starts `words` (the program's path first); its standard output and error go to `log_file`. Errors: a sentence.
    [[nodiscard]] static std::expected<std::unique_ptr<ChildProcess>, std::string> start(
        const std::vector<std::string>& words, const std::string& log_file);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    // Does nothing once the child has been reaped.
    void send(int signal);
    // Whether and how it has ended; reaps it.
    [[nodiscard]] const std::optional<ChildEnd>& end();

    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    explicit ChildProcess(pid_t pid) : pid_(pid) {}

    pid_t pid_;
    std::optional<ChildEnd> end_;
};

}  // namespace longhold::fleet
