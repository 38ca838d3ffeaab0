// SPDX-License-Identifier: Apache-2.0
// Every key of the settings, and the checks of what several keys must keep together.
#pragma once

#include <longhold/config/settings.h>

#include <functional>
#include <string_view>
#include <vector>

#include "key_table.h"

namespace longhold::config {

[[nodiscard]] const std::vector<Key<Settings>>& settings_table();

// Reports what the values break together. A check is left out when `failed` says so of one of its keys, whose value is
// then not what was written. Requires settings with origins.
void check_settings(const Settings& settings, const std::function<bool(std::string_view path)>& failed,
                    Problems& problems);

}  // namespace longhold::config
