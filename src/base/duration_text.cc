// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace longhold {
namespace {

struct Unit {
    std::string_view suffix;
    std::int64_t nanoseconds;
};

// Longest first, so that formatting takes the largest unit; "ms" is matched before "m" by exact
// comparison.
constexpr std::array<Unit, 7> units{{{"d", 86'400'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

constexpr double nanoseconds_max = 10'000.0 * 86'400e9;

bool is_unit_letter(char c) {
    return c >= 'a' && c <= 'z';
}

}  // namespace

std::expected<Duration, std::string> parse_duration(std::string_view text) {
    const auto fail = [text](std::string_view why) {
        return std::unexpected("\"" + std::string{text} + "\" is no duration: " + std::string{why} +
                               "; write it like 200ms, 6s or 1m30s");
    };
    if (text == "0") {
        return Duration{0};
    }
    if (text.empty()) {
        return fail("it is empty");
    }
    double total = 0;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at != end) {
        if (*at < '0' || *at > '9') {
            return fail("a number is expected");
        }
        double number = 0;
        const auto [after, error] = std::from_chars(at, end, number, std::chars_format::fixed);
        if (error != std::errc{}) {
            return fail("a number is expected");
        }
        const char* unit_end = after;
        while (unit_end != end && is_unit_letter(*unit_end)) {
            ++unit_end;
        }
        const std::string_view suffix{after, static_cast<std::size_t>(unit_end - after)};
        if (suffix.empty()) {
            return fail("the unit is missing");
        }
        bool known = false;
        for (const auto& unit : units) {
            if (unit.suffix == suffix) {
                total += number * static_cast<double>(unit.nanoseconds);
                known = true;
            }
        }
        if (!known) {
            return fail("the unit \"" + std::string{suffix} + "\" is not one of ns, us, ms, s, m, h, d");
        }
        at = unit_end;
    }
    if (total > nanoseconds_max) {
        return fail("it is above 10,000 days");
    }
    return Duration{std::llround(total)};
}

std::string format_duration(Duration duration) {
    std::int64_t rest = duration.count();
    if (rest == 0) {
        return "0";
    }
    std::string text;
    if (rest < 0) {
        text += '-';
        rest = -rest;
    }
    for (const auto& unit : units) {
        if (rest >= unit.nanoseconds) {
            text += std::to_string(rest / unit.nanoseconds);
            text += unit.suffix;
            rest %= unit.nanoseconds;
        }
    }
    return text;
}

}  // namespace longhold
