// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <longhold/base/invariant.h>

#include <algorithm>

namespace longhold::app {
namespace {

constexpr Duration show_after = std::chrono::seconds{2};
constexpr Duration show_every = std::chrono::milliseconds{100};
constexpr std::size_t bar_width = 30;

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

OptionSpec output_option() {
    return {.name = "o",
            .value = "FORMAT",
            .help = "table (for people), json (one document) or ndjson (one line each)",
            .choices = {"table", "json", "ndjson"}};
}

OutputFormat output_format(const Arguments& arguments) {
    const std::string format = arguments.last("o").value_or("table");
    return format == "json" ? OutputFormat::json : format == "ndjson" ? OutputFormat::ndjson : OutputFormat::table;
}

std::string TextTable::text(bool terminal) const {
    std::vector<std::size_t> widths;
    for (const auto& cell : header_) {
        widths.push_back(width_of(cell));
    }
    for (const auto& row : rows_) {
        invariant(row.size() == header_.size(), "a row of a table has a cell for each column");
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    const auto line = [&widths](const std::vector<std::string>& cells) {
        std::string out;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            out += cells[i];
            if (i + 1 < cells.size()) {
                out.append(widths[i] - width_of(cells[i]) + 2, ' ');
            }
        }
        return out;
    };
    std::string out = terminal ? "\x1b[1m" + line(header_) + "\x1b[0m\n" : line(header_) + "\n";
    for (const auto& row : rows_) {
        out += line(row) + "\n";
    }
    return out;
}

void print_problem(Console& console, const config::Problem& problem) {
    console.write_error("longhold: " + problem.text() + "\n");
}

ExitCode print_problems(Console& console, const config::Problems& problems) {
    for (const auto& problem : problems) {
        print_problem(console, problem);
    }
    return ExitCode::usage;
}

bool confirmed(const std::string& question, const Arguments& arguments, Console& console) {
    if (arguments.has("yes")) {
        return true;
    }
    if (!console.input_is_terminal()) {
        print_problem(
            console,
            {.what = "this needs a yes: " + question, .where = "standard input is no terminal", .remedy = "add --yes"});
        return false;
    }
    console.write_error(question + " [y/N] ");
    const auto answer = console.read_line().value_or("");
    if (answer == "y" || answer == "Y" || answer == "yes") {
        return true;
    }
    console.write_error("nothing was changed\n");
    return false;
}

Progress::Progress(Console& console, const runtime::Clock& clock, std::string what, std::size_t total)
    : console_(console), clock_(clock), what_(std::move(what)), total_(total), show_from_(clock.now() + show_after) {}

Progress::~Progress() {
    if (shown_) {
        console_.write_error("\r\x1b[K");
    }
}

void Progress::advance() {
    ++done_;
    if (!console_.error_is_terminal() || clock_.now() < show_from_) {
        return;
    }
    show_from_ = clock_.now() + show_every;
    shown_ = true;
    const std::size_t filled = total_ == 0 ? bar_width : std::min(bar_width, bar_width * done_ / total_);
    console_.write_error("\r\x1b[K" + what_ + " [" + std::string(filled, '#') + std::string(bar_width - filled, ' ') +
                         "] " + std::to_string(done_) + "/" + std::to_string(total_));
}

}  // namespace longhold::app
