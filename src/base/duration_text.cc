// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>

#include <algorithm>
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

constexpr std::int64_t nanoseconds_max = 10'000LL * 86'400'000'000'000;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_unit_letter(char c) {
    return c >= 'a' && c <= 'z';
}

const Unit* find_unit(std::string_view suffix) {
    const auto* const found = std::ranges::find(units, suffix, &Unit::suffix);
    return found == units.end() ? nullptr : found;
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
    constexpr std::string_view too_long = "it is above 10,000 days";
    std::int64_t total = 0;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at != end) {
        if (!is_digit(*at)) {
            return fail("a number is expected");
        }
        // The whole part is kept as an integer: a double would round above 104 days.
        std::int64_t whole = 0;
        auto [after, error] = std::from_chars(at, end, whole);
        if (error != std::errc{}) {
            return fail(too_long);
        }
        double fraction = 0;
        if (after != end && *after == '.') {
            const auto [fraction_end, fraction_error] = std::from_chars(after, end, fraction, std::chars_format::fixed);
            if (fraction_error != std::errc{}) {
                return fail("digits are expected behind the point");
            }
            after = fraction_end;
        }
        const char* unit_end = std::find_if_not(after, end, is_unit_letter);
        const std::string_view suffix{after, static_cast<std::size_t>(unit_end - after)};
        if (suffix.empty()) {
            return fail("the unit is missing");
        }
        const Unit* const unit = find_unit(suffix);
        if (unit == nullptr) {
            return fail("the unit \"" + std::string{suffix} + "\" is not one of ns, us, ms, s, m, h, d");
        }
        if (whole > nanoseconds_max / unit->nanoseconds) {
            return fail(too_long);
        }
        total += whole * unit->nanoseconds + std::llround(fraction * static_cast<double>(unit->nanoseconds));
        if (total > nanoseconds_max) {
            return fail(too_long);
        }
        at = unit_end;
    }
    return Duration{total};
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
