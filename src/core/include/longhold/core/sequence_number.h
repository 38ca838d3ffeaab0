// SPDX-License-Identifier: Apache-2.0
// What of an upstream's sequence values can be counted with.
//
// A value is a number only when it is what a 64-bit unsigned number would be written as: decimal
// digits, no sign, no leading zero. Anything else is opaque: it is kept as it is, and has no order.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace longhold::core {

// The number that `text` is the one spelling of; nothing for opaque values.
[[nodiscard]] constexpr std::optional<std::uint64_t> sequence_number(std::string_view text) {
    constexpr std::size_t digits_max = 20;
    if (text.empty() || text.size() > digits_max || (text.size() > 1 && text.front() == '0')) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return std::nullopt;
        }
        number = number * 10 + digit;
    }
    return number;
}

}  // namespace longhold::core
