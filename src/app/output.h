// SPDX-License-Identifier: Apache-2.0
// Output: the forms in which commands answer.
#pragma once

#include <longhold/base/time.h>
#include <longhold/config/problem.h>
#include <longhold/runtime/clock.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace longhold::app {

// `table` is for people; `json` is one document, `ndjson` one line per thing.
enum class OutputFormat : std::uint8_t { table, json, ndjson };

// The option -o with its choices, and what was chosen.
[[nodiscard]] OptionSpec output_option();
[[nodiscard]] OutputFormat output_format(const Arguments& arguments);

// Rows in aligned columns; the header is bold on a terminal.
class TextTable {
public:
    explicit TextTable(std::vector<std::string> header) : header_(std::move(header)) {}

    // Requires as many cells as the header has.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    [[nodiscard]] std::string text(bool terminal) const;

private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

// "longhold: <what> (<where>): <what to do>" on standard error.
void print_problem(Console& console, const config::Problem& problem);
// Prints all of them; returns `usage`.
ExitCode print_problems(Console& console, const config::Problems& problems);

// Asks a question that `--yes` answers. Errors are printed; false then, and when the answer is no.
[[nodiscard]] bool confirmed(const std::string& question, const Arguments& arguments, Console& console);

// How far long work is, on standard error, only on a terminal and only once it has taken two seconds.
class Progress {
public:
    Progress(Console& console, const runtime::Clock& clock, std::string what, std::size_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance();

private:
    Console& console_;
    const runtime::Clock& clock_;
    std::string what_;
    std::size_t total_;
    std::size_t done_ = 0;
    Instant show_from_;
    bool shown_ = false;
};

}  // namespace longhold::app
