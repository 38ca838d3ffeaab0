// SPDX-License-Identifier: Apache-2.0
// A step of the start or the stop.
#pragma once

#include <longhold/base/time.h>
#include <longhold/lifecycle/step_result.h>
#include <longhold/runtime/task.h>

#include <functional>

namespace longhold::lifecycle {

// Does the step's work. It is cancelled at `deadline` (or sooner), and must then end at its current or next co_await;
// one that wants to say what is left returns shortly before.
using StepWork = std::function<runtime::Task<StepResult>(Instant deadline)>;

}  // namespace longhold::lifecycle
