// SPDX-License-Identifier: Apache-2.0
// `config explain`: every key with its value and where that comes from. Secrets appear as their references.
#pragma once

#include <longhold/config/settings.h>

#include <string>

namespace longhold::config {

// Requires settings from load_settings(). Aligned text: key, value, origin.
[[nodiscard]] std::string explain_table(const Settings& settings);

// One JSON document: {"keys":[{"key","value","origin","default","restart","summary"}, …]}.
[[nodiscard]] std::string explain_json(const Settings& settings);

}  // namespace longhold::config
