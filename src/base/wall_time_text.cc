// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/wall_time_text.h>

#include <chrono>
#include <cstdint>

namespace longhold {
namespace {

void put(char* out, std::uint64_t number, int digits) {
    for (int i = digits - 1; i >= 0; --i) {
        out[i] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

// Reads `digits` digits at `at`; a negative answer means that one is missing.
std::int64_t get(std::string_view text, std::size_t at, std::size_t digits) {
    std::int64_t number = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
        if (i >= text.size() || text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

}  // namespace

void format_rfc3339(WallTime time, char* out) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const auto micros = static_cast<std::uint64_t>((time - day).count());
    put(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
    out[4] = '-';
    put(out + 5, static_cast<unsigned>(date.month()), 2);
    out[7] = '-';
    put(out + 8, static_cast<unsigned>(date.day()), 2);
    out[10] = 'T';
    put(out + 11, micros / 3'600'000'000ULL, 2);
    out[13] = ':';
    put(out + 14, micros / 60'000'000ULL % 60, 2);
    out[16] = ':';
    put(out + 17, micros / 1'000'000ULL % 60, 2);
    out[19] = '.';
    put(out + 20, micros % 1'000'000ULL, 6);
    out[26] = 'Z';
}

std::string format_rfc3339(WallTime time) {
    std::string text(rfc3339_length, '0');
    format_rfc3339(time, text.data());
    return text;
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
    if (text.size() < 20 || text.size() > rfc3339_length || text.back() != 'Z' || text[4] != '-' || text[7] != '-' ||
        text[10] != 'T' || text[13] != ':' || text[16] != ':') {
        return std::nullopt;
    }
    const std::int64_t year = get(text, 0, 4);
    const std::int64_t month = get(text, 5, 2);
    const std::int64_t day = get(text, 8, 2);
    const std::int64_t hour = get(text, 11, 2);
    const std::int64_t minute = get(text, 14, 2);
    const std::int64_t second = get(text, 17, 2);
    if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60) {
        return std::nullopt;
    }
    std::int64_t micros = 0;
    if (text.size() > 20) {
        const std::size_t digits = text.size() - 21;
        if (text[19] != '.' || digits == 0) {
            return std::nullopt;
        }
        micros = get(text, 20, digits);
        if (micros < 0) {
            return std::nullopt;
        }
        for (std::size_t i = digits; i < 6; ++i) {
            micros *= 10;
        }
    }
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok()) {
        return std::nullopt;
    }
    return WallTime{std::chrono::sys_days{date} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
                    std::chrono::seconds{second} + std::chrono::microseconds{micros}};
}

}  // namespace longhold
