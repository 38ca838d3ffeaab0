// SPDX-License-Identifier: Apache-2.0
// Console: where a command's words come from and go to.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::app {

// Thread-safety: none; used by the main thread.
class Console {
public:
    virtual ~Console() = default;

    // Standard output. What cannot be written any more is dropped, see broken().
    virtual void write(std::string_view text) = 0;
    // Standard error; never fails.
    virtual void write_error(std::string_view text) = 0;
    // All of standard input. Errors: why it cannot be read, or that it is above 64 MiB.
    [[nodiscard]] virtual std::expected<std::string, std::string> read_all() = 0;
    // One line of standard input without its end; nothing at the end of input.
    [[nodiscard]] virtual std::optional<std::string> read_line() = 0;

    [[nodiscard]] virtual bool output_is_terminal() const = 0;
    [[nodiscard]] virtual bool error_is_terminal() const = 0;
    [[nodiscard]] virtual bool input_is_terminal() const = 0;

    // Why standard output can no longer be written; 0 while it can, EPIPE when its reader has left.
    [[nodiscard]] virtual int broken() const = 0;
};

// The process's own three streams. Requires that SIGPIPE is ignored.
class SystemConsole final : public Console {
public:
    void write(std::string_view text) override;
    void write_error(std::string_view text) override;
    [[nodiscard]] std::expected<std::string, std::string> read_all() override;
    [[nodiscard]] std::optional<std::string> read_line() override;
    [[nodiscard]] bool output_is_terminal() const override;
    [[nodiscard]] bool error_is_terminal() const override;
    [[nodiscard]] bool input_is_terminal() const override;

    [[nodiscard]] int broken() const override { return broken_; }

private:
    int broken_ = 0;
    std::string unread_;  // of standard input, behind the last line given out
};

}  // namespace longhold::app
