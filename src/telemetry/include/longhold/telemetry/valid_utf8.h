// SPDX-License-Identifier: Apache-2.0
// Text from outside, made fit for JSON and metrics.
#pragma once

#include <string>
#include <string_view>

namespace longhold::telemetry {

// `text` with each byte that is not part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

}  // namespace longhold::telemetry
