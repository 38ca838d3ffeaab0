// SPDX-License-Identifier: Apache-2.0
// Text of strangers, made safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace longhold::app {

// `text` with control characters (but line feed and tab) as \xNN, so that it cannot steer a terminal; every byte beyond
// ASCII too where it is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace longhold::app
