// SPDX-License-Identifier: Apache-2.0
// Retry-After (RFC 9110, section 10.2.3) in its forms: seconds, and a date in any of HTTP's three spellings.
#include <longhold/upstream/handshake.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "header_text.h"

namespace longhold::upstream {
namespace {

constexpr std::array<std::string_view, 12> months{"jan", "feb", "mar", "apr", "may", "jun",
                                                  "jul", "aug", "sep", "oct", "nov", "dec"};

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = failure == std::errc{} && end == text.data() + text.size() && value >= 0;
    return whole ? std::optional{value} : std::nullopt;
}

// "08:49:37"
std::optional<std::chrono::seconds> time_of_day(std::string_view text) {
    if (text.size() != 8 || text[2] != ':' || text[5] != ':') {
        return std::nullopt;
    }
    const auto hours = number(text.substr(0, 2));
    const auto minutes = number(text.substr(3, 2));
    const auto seconds = number(text.substr(6, 2));
    if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) {
        return std::nullopt;
    }
    return std::chrono::hours{*hours} + std::chrono::minutes{*minutes} + std::chrono::seconds{*seconds};
}

// The spellings differ in order and separators only: a month's name, a time with colons, and of the other numbers the
// day stands before the year.
std::optional<WallTime> http_date(std::string_view text) {
    std::optional<std::chrono::seconds> time;
    std::optional<int> day;
    std::optional<int> year;
    unsigned month = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(" ,-"), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto named =
            std::ranges::find_if(months, [&](std::string_view one) { return equal_ignoring_case(one, word); });
        if (named != months.end()) {
            month = static_cast<unsigned>(named - months.begin()) + 1;
        } else if (word.find(':') != std::string_view::npos) {
            time = time_of_day(word);
        } else if (const auto value = number(word)) {
            (day ? year : day) = value;
        }
    }
    if (!time || !day || !year || month == 0) {
        return std::nullopt;
    }
    if (*year < 100) {
        *year += *year < 70 ? 2'000 : 1'900;
    }
    const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{month},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok() || *year > 9'999) {
        return std::nullopt;
    }
    return WallTime{std::chrono::sys_days{date} + *time};
}

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Duration> retry_after(const Headers& headers, WallTime wall_now, Duration most) {
    const auto value = find_header(headers, "Retry-After");
    if (!value) {
        return std::nullopt;
    }
    if (all_digits(*value)) {
        const auto seconds = number(*value);  // nothing: more than an int holds
        const Duration wait = seconds ? Duration{std::chrono::seconds{*seconds}} : most;
        return std::min(wait, most);
    }
    const auto date = http_date(*value);
    if (!date) {
        return std::nullopt;
    }
    // In microseconds, since far dates do not fit into nanoseconds.
    const auto most_wait = std::chrono::duration_cast<std::chrono::microseconds>(most);
    return Duration{std::clamp<std::chrono::microseconds>(*date - wall_now, std::chrono::microseconds{0}, most_wait)};
}

}  // namespace longhold::upstream
