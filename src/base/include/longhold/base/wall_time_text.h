// SPDX-License-Identifier: Apache-2.0
// Wall time as RFC 3339 text in UTC with microseconds: "2026-11-30T08:00:00.123456Z".
#pragma once

#include <longhold/base/time.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace longhold {

inline constexpr std::size_t rfc3339_length = 27;

// Writes exactly rfc3339_length characters, without allocation. Requires a year of 0 to 9999.
void format_rfc3339(WallTime time, char* out);
[[nodiscard]] std::string format_rfc3339(WallTime time);

// Reads what format_rfc3339() writes, and fewer fraction digits. Nothing on any other text.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace longhold
