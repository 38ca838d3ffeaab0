// SPDX-License-Identifier: Apache-2.0
// Tasks that keep Health's facts fresh: dependency checks, and the service manager's watchdog.
//
// Both run until their TaskGroup is stopped, on the admin listener's loop. Every argument outlives them.
#pragma once

#include <longhold/lifecycle/health.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/service_notifier.h>
#include <longhold/runtime/task.h>
#include <longhold/telemetry/log.h>

#include <functional>
#include <string>

namespace longhold::lifecycle {

// Looks once whether a dependency answers, on a connection of its own; gives up at `deadline`.
using DependencyCheck = std::function<runtime::Task<DependencyResult>(Instant deadline)>;

// Checks at once and then `every` so long; a check that takes longer than `within` counts as failed. Logs only changes.
[[nodiscard]] runtime::Task<> check_dependency(runtime::Loop& loop, Health& health, telemetry::Log& log,
                                               std::string name, DependencyCheck check, Duration every,
                                               Duration within);

// Tells the service manager `every` so long that the process is alive, as long as livez says so.
[[nodiscard]] runtime::Task<> feed_service_watchdog(runtime::Loop& loop, const Health& health,
                                                    const runtime::ServiceNotifier& notifier, telemetry::Log& log,
                                                    Duration every);

}  // namespace longhold::lifecycle
