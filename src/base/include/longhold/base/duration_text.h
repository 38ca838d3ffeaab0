// SPDX-License-Identifier: Apache-2.0
// Durations as people write them: "6s", "200ms", "1m30s", "0".
#pragma once

#include <longhold/base/time.h>

#include <expected>
#include <string>
#include <string_view>

namespace longhold {

// Reads one or more numbers, each with a unit of ns, us, ms, s, m, h or d; "0" needs none; "1.5s"
// is allowed. Errors: a sentence that says what is wrong with `text`. Negative durations and those
// above 10,000 days are errors.
[[nodiscard]] std::expected<Duration, std::string> parse_duration(std::string_view text);

// Writes the shortest exact form that parse_duration() reads back.
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace longhold
