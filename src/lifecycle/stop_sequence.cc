// SPDX-License-Identifier: Apache-2.0
#include <longhold/lifecycle/stop_sequence.h>
#include <longhold/runtime/task_group.h>

#include <exception>

namespace longhold::lifecycle {
namespace {

std::vector<StopStepSpec> specs_of(const std::vector<StopStep>& steps) {
    std::vector<StopStepSpec> specs;
    specs.reserve(steps.size());
    for (const StopStep& step : steps) {
        specs.push_back(step.spec);
    }
    return specs;
}

}  // namespace

StopSequence::StopSequence(runtime::Loop& loop, telemetry::Log& log, std::vector<StopStep> steps, Instant signalled_at)
    : loop_(loop), log_(log), steps_(std::move(steps)), plan_(specs_of(steps_), signalled_at), changed_(loop) {}

void StopSequence::hurry() {
    plan_.hurry();
    changed_.notify();
}

void StopSequence::lose_session() {
    plan_.lose_session();
    changed_.notify();
}

runtime::Task<> StopSequence::run_step(const StopStep& step, Instant deadline, std::optional<StepResult>& result) {
    struct Over {
        StopSequence& sequence;

        ~Over() {
            sequence.step_over_ = true;
            sequence.changed_.notify();
        }
    } const over{*this};

    result = co_await step.work(deadline);
}

runtime::Task<int> StopSequence::run() {
    const auto now = [this] { return loop_.clock().now(); };
    while (const auto order = plan_.next()) {
        log_new_reports();
        const StopStep& step = steps_[order->step];
        log_.info("stopping", {{"step", step.spec.name}, {"within", order->deadline - now()}});
        std::optional<StepResult> result;
        step_over_ = false;
        runtime::TaskGroup group{loop_};
        group.spawn(run_step(step, order->deadline, result));
        while (!step_over_ && !plan_.must_cut(now())) {
            co_await changed_.wait_until(order->deadline);
        }
        group.stop();
        try {
            co_await group.join();
        } catch (const std::exception& failure) {
            result = std::unexpected(std::string{"it threw: "} + failure.what());
        }
        plan_.ended(std::move(result), now());
    }
    log_new_reports();
    co_return plan_.exit_code();
}

void StopSequence::log_new_reports() {
    for (; logged_ < plan_.reports().size(); ++logged_) {
        const StepReport& report = plan_.reports()[logged_];
        const bool clean = report.end == StepEnd::done || report.end == StepEnd::skipped;
        const auto level = clean ? telemetry::Level::info : telemetry::Level::error;
        if (report.detail.empty()) {
            log_.write(level, "stop step ended", {{"step", report.name}, {"end", step_end_name(report.end)}});
        } else {
            log_.write(level, "stop step ended",
                       {{"step", report.name}, {"end", step_end_name(report.end)}, {"detail", report.detail}});
        }
    }
}

}  // namespace longhold::lifecycle
