// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/lifecycle/stop_plan.h>

#include <algorithm>

namespace longhold::lifecycle {

std::string_view step_end_name(StepEnd end) {
    switch (end) {
        case StepEnd::done:
            return "done";
        case StepEnd::skipped:
            return "skipped";
        case StepEnd::without_session:
            return "without_session";
        case StepEnd::unfinished:
            return "unfinished";
        case StepEnd::overrun:
            return "overrun";
    }
    return "overrun";
}

StopPlan::StopPlan(std::vector<StopStepSpec> steps, Instant signalled_at)
    : steps_(std::move(steps)), signalled_at_(signalled_at), deadline_(signalled_at) {}

std::optional<StepEnd> StopPlan::reason_to_skip(const StopStepSpec& step) const {
    if (session_lost_ && step.needs_session) {
        return StepEnd::without_session;
    }
    if (step.is_wait && (hurried_ || step.budget <= Duration::zero())) {
        return StepEnd::skipped;
    }
    return std::nullopt;
}

std::optional<StopPlan::Order> StopPlan::next() {
    invariant(!running_, "one stop step at a time");
    for (; next_ < steps_.size(); ++next_) {
        const StopStepSpec& step = steps_[next_];
        deadline_ += step.budget;
        const auto skip = reason_to_skip(step);
        if (!skip) {
            running_ = true;
            return Order{next_, deadline_};
        }
        reports_.push_back(StepReport{step.name, *skip});
    }
    return std::nullopt;
}

bool StopPlan::must_cut(Instant now) const {
    return running_ && (now >= deadline_ || reason_to_skip(steps_[next_]));
}

void StopPlan::ended(std::optional<StepResult> result, Instant now) {
    invariant(running_, "only a running stop step ends");
    running_ = false;
    const StopStepSpec& step = steps_[next_++];
    if (result) {
        reports_.push_back(*result ? StepReport{step.name, StepEnd::done}
                                   : StepReport{step.name, StepEnd::unfinished, std::move(result->error())});
        return;
    }
    if (const auto skip = reason_to_skip(step)) {
        reports_.push_back(StepReport{step.name, *skip});
        return;
    }
    const bool in_time = now < deadline_;
    reports_.push_back(
        StepReport{step.name, StepEnd::overrun,
                   in_time ? "it broke off" : "its budget of " + format_duration(step.budget) + " is used up"});
}

int StopPlan::exit_code() const {
    const bool clean = std::ranges::all_of(reports_, [](const StepReport& report) {
        return report.end == StepEnd::done || report.end == StepEnd::skipped;
    });
    return clean ? 0 : 1;
}

Instant StopPlan::last_deadline() const {
    Instant last = signalled_at_;
    for (const StopStepSpec& step : steps_) {
        last += step.budget;
    }
    return last;
}

std::expected<void, std::string> check_grace(const std::vector<StopStepSpec>& steps, Duration grace) {
    Duration sum{};
    std::string terms;
    for (const StopStepSpec& step : steps) {
        sum += step.budget;
        terms += (terms.empty() ? "" : " + ") + step.name + " " + format_duration(step.budget);
    }
    const Duration needed = sum + grace_beyond_budgets;
    if (grace >= needed) {
        return {};
    }
    return std::unexpected("drain.grace is " + format_duration(grace) + ", but the stop may take " +
                           format_duration(sum) + " (" + terms + ") and needs " +
                           format_duration(grace_beyond_budgets) + " more: let the orchestrator grant at least " +
                           format_duration(needed) + " and set drain.grace to it, or lower a budget");
}

}  // namespace longhold::lifecycle
