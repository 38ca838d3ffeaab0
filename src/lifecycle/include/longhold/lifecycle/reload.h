// SPDX-License-Identifier: Apache-2.0
// Reload (SIGHUP): every part is validated before any is applied.
#pragma once

#include <longhold/telemetry/log.h>

#include <expected>
#include <functional>
#include <string>
#include <vector>

namespace longhold::lifecycle {

// What one part would do. `apply` cannot fail: all that can was done while validating.
struct ReloadChange {
    std::function<void()> apply{};              // may be empty: nothing changes
    std::vector<std::string> restart_needed{};  // keys whose new values take effect only after a restart
};

struct ReloadPart {
    std::string name;
    // Reads and checks; changes nothing. Errors: a sentence that says what is wrong and where.
    std::function<std::expected<ReloadChange, std::string>()> validate;
};

struct ReloadReport {
    bool applied = false;
    std::vector<std::string> errors{};  // of all parts, not only of the first
    std::vector<std::string> restart_needed{};
};

// Logs the outcome. Runs where the parts live; blocks as long as their validation does.
ReloadReport reload(const std::vector<ReloadPart>& parts, telemetry::Log& log);

}  // namespace longhold::lifecycle
