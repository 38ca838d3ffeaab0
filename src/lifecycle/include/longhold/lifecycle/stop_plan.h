// SPDX-License-Identifier: Apache-2.0
// StopPlan: what is done next when a process stops, until when, and how it went.
//
// Pure: no clock, no I/O, no threads. The caller passes `now`, runs the step that it is told, and reports back. Keeps
// I2's order on the way out: nothing later begins before its turn, and the heartbeats' end is the last step but the
// listener's.
#pragma once

#include <longhold/base/time.h>
#include <longhold/lifecycle/step_result.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace longhold::lifecycle {

struct StopStepSpec {
    std::string name;
    Duration budget{};
    // Only lets time pass (for a balancer): a second signal ends it, or skips it.
    bool is_wait = false;
    // Acts for the session: skipped, and ended, once the session is past its deadline.
    bool needs_session = false;
};

enum class StepEnd : std::uint8_t {
    done,
    skipped,  // a wait, after a second signal
    without_session,
    unfinished,  // the step itself said what is left
    overrun,     // its time was up
};
[[nodiscard]] std::string_view step_end_name(StepEnd end);

struct StepReport {
    std::string name;
    StepEnd end = StepEnd::done;
    std::string detail{};

    friend bool operator==(const StepReport&, const StepReport&) = default;
};

class StopPlan {
public:
    StopPlan(std::vector<StopStepSpec> steps, Instant signalled_at);

    struct Order {
        std::size_t step = 0;
        Instant deadline{};
    };

    // The step to run now; nothing when all have ended. Requires that the one before was ended(). A step's deadline is
    // the signal plus all budgets up to its own, so what earlier steps leave over is the later ones' to use.
    [[nodiscard]] std::optional<Order> next();

    // Whether the running step is to be cancelled.
    [[nodiscard]] bool must_cut(Instant now) const;

    // Reports how the running step ended; nothing: it was cancelled.
    void ended(std::optional<StepResult> result, Instant now);

    // A second signal: waits are skipped; what flushes, hands over or closes is not.
    void hurry() { hurried_ = true; }

    void lose_session() { session_lost_ = true; }

    [[nodiscard]] const std::vector<StepReport>& reports() const { return reports_; }

    // 0 when everything was finished, or needed no finishing; else 1.
    [[nodiscard]] int exit_code() const;

    // When the last step must have ended: a process that still runs well after it hangs.
    [[nodiscard]] Instant last_deadline() const;

private:
    [[nodiscard]] std::optional<StepEnd> reason_to_skip(const StopStepSpec& step) const;

    std::vector<StopStepSpec> steps_;
    Instant signalled_at_;
    Instant deadline_;
    std::size_t next_ = 0;
    bool running_ = false;
    bool hurried_ = false;
    bool session_lost_ = false;
    std::vector<StepReport> reports_;
};

// What an orchestrator must grant beyond the sum of the budgets.
inline constexpr Duration grace_beyond_budgets = std::chrono::seconds{5};

// Whether `grace` is enough for `steps`. Errors: a sentence with the sum and what to change.
[[nodiscard]] std::expected<void, std::string> check_grace(const std::vector<StopStepSpec>& steps, Duration grace);

}  // namespace longhold::lifecycle
