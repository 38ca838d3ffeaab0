// SPDX-License-Identifier: Apache-2.0
// Names of the simulation: connections and sessions are numbered, and their ids are short and say their number.
#pragma once

#include <longhold/base/ids.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhold::sim {

inline constexpr std::uint32_t no_number = UINT32_MAX;

inline std::uint32_t number_in(std::string_view text) {
    std::uint32_t number = no_number;
    if (!text.empty()) {
        std::from_chars(text.data() + 1, text.data() + text.size(), number);
    }
    return number;
}

inline std::string numbered(char letter, std::uint32_t number, std::size_t digits) {
    const std::string text = std::to_string(number);
    return letter + std::string(text.size() < digits ? digits - text.size() : 0, '0') + text;
}

inline ConnectionId connection_id(std::uint32_t number) {
    return ConnectionId{numbered('c', number, 3)};
}

inline SessionId session_id(std::uint32_t number) {
    return SessionId{numbered('s', number, 4)};
}

inline std::uint32_t number_of(const ConnectionId& id) {
    return number_in(id.text());
}

inline std::uint32_t number_of(const SessionId& id) {
    return number_in(id.text());
}

}  // namespace longhold::sim
