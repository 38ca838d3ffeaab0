// SPDX-License-Identifier: Apache-2.0
// The start of a process: named steps, one after the other, each with a deadline.
#pragma once

#include <longhold/lifecycle/step.h>
#include <longhold/runtime/loop.h>
#include <longhold/telemetry/log.h>

#include <vector>

namespace longhold::lifecycle {

struct StartStep {
    std::string name;
    Duration within{};
    StepWork work;
};

// Why the process must end instead of going on "ready anyway".
struct StartFailure {
    std::string step;
    std::string reason;
};

// Runs `steps` in their order on `loop`, and calls `on_ready` after the last one: the only place where startupz and
// readyz turn. Stops at the first step that fails or misses its deadline; what earlier steps opened is the caller's to
// close. `log` outlives the task.
[[nodiscard]] runtime::Task<std::expected<void, StartFailure>> run_start(runtime::Loop& loop, telemetry::Log& log,
                                                                         std::vector<StartStep> steps,
                                                                         std::function<void()> on_ready);

}  // namespace longhold::lifecycle
