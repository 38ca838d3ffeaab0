// SPDX-License-Identifier: Apache-2.0
// StopSequence: carries out a StopPlan on a loop.
//
// Thread-safety: none; lives on its loop. A step that ignores its cancellation holds everything up: give the process a
// last resort that needs no loop, such as Watchdog::call_at() at last_deadline() and a few seconds.
#pragma once

#include <longhold/lifecycle/step.h>
#include <longhold/lifecycle/stop_plan.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/telemetry/log.h>

#include <vector>

namespace longhold::lifecycle {

struct StopStep {
    StopStepSpec spec;
    StepWork work;
};

class StopSequence {
public:
    // `loop` and `log` outlive it.
    StopSequence(runtime::Loop& loop, telemetry::Log& log, std::vector<StopStep> steps, Instant signalled_at);
    StopSequence(const StopSequence&) = delete;
    StopSequence& operator=(const StopSequence&) = delete;

    // Runs all steps; returns the exit code: 0, or 1 when something was not finished, which is then in the log. Once.
    // Must not be cancelled: run it in a TaskGroup that is joined, not stopped.
    [[nodiscard]] runtime::Task<int> run();

    // See StopPlan.
    void hurry();
    void lose_session();

    [[nodiscard]] const std::vector<StepReport>& reports() const { return plan_.reports(); }

    [[nodiscard]] Instant last_deadline() const { return plan_.last_deadline(); }

private:
    runtime::Task<> run_step(const StopStep& step, Instant deadline, std::optional<StepResult>& result);
    void log_new_reports();

    runtime::Loop& loop_;
    telemetry::Log& log_;
    std::vector<StopStep> steps_;
    StopPlan plan_;
    runtime::Event changed_;
    bool step_over_ = false;
    std::size_t logged_ = 0;
};

}  // namespace longhold::lifecycle
