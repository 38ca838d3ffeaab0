// SPDX-License-Identifier: Apache-2.0
// CapturedConsole: a console of a test.
#pragma once

#include <deque>
#include <functional>

#include "console.h"

namespace longhold::app {

class CapturedConsole final : public Console {
public:
    std::string output;
    std::string errors;
    std::string input;                // what read_all() gives
    std::deque<std::string> answers;  // what read_line() gives
    bool terminal = false;
    std::function<void()> on_write;  // called after each write(), where set

    void write(std::string_view text) override {
        output += text;
        if (on_write) {
            on_write();
        }
    }

    void write_error(std::string_view text) override { errors += text; }

    [[nodiscard]] std::expected<std::string, std::string> read_all() override { return input; }

    [[nodiscard]] std::optional<std::string> read_line() override {
        if (answers.empty()) {
            return std::nullopt;
        }
        std::string answer = answers.front();
        answers.pop_front();
        return answer;
    }

    [[nodiscard]] bool output_is_terminal() const override { return terminal; }

    [[nodiscard]] bool error_is_terminal() const override { return terminal; }

    [[nodiscard]] bool input_is_terminal() const override { return terminal; }

    [[nodiscard]] int broken() const override { return 0; }
};

}  // namespace longhold::app
