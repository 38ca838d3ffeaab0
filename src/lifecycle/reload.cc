// SPDX-License-Identifier: Apache-2.0
#include <longhold/lifecycle/reload.h>

#include <utility>

namespace longhold::lifecycle {

ReloadReport reload(const std::vector<ReloadPart>& parts, telemetry::Log& log) {
    ReloadReport report;
    std::vector<ReloadChange> changes;
    for (const ReloadPart& part : parts) {
        auto change = part.validate();
        if (change) {
            changes.push_back(std::move(*change));
        } else {
            report.errors.push_back(part.name + ": " + change.error());
        }
    }
    if (!report.errors.empty()) {
        for (const std::string& error : report.errors) {
            log.error("reload refused, nothing was changed", {{"reason", error}});
        }
        return report;
    }
    for (ReloadChange& change : changes) {
        if (change.apply) {
            change.apply();
        }
        for (std::string& key : change.restart_needed) {
            log.warning("changed setting needs a restart", {{"key", key}});
            report.restart_needed.push_back(std::move(key));
        }
    }
    report.applied = true;
    log.info("reloaded", {{"parts", changes.size()}});
    return report;
}

}  // namespace longhold::lifecycle
