// SPDX-License-Identifier: Apache-2.0
// The order in which a worker hands over its connections, how many at once, and the deadlines of a
// stop (DESIGN section 7).
//
// Shortest first, which gets the most connections handed over before any deadline (W. E. Smith,
// "Various optimizers for single-stage production", 1956): those with the least to flush. Among
// equals the stable ones, since an unstable one is likely to fail on its new owner too; then those
// that were active last, where a gap costs most. What is not wanted any more comes last: nobody
// waits for it.
//
// Pure functions; the caller runs the steps.
#pragma once

#include <longhold/base/time.h>
#include <longhold/core/rows.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

// A connection that the worker holds, as far as its drain goes.
struct HeldConnection {
    ConnectionId id;
    DesiredState desired = DesiredState::started;
    std::uint64_t pending_bytes = 0;  // received and not yet acked
    std::uint32_t stability = 0;      // strikes; 0 is stable
    Instant active_at{};              // of the last message
    Duration cost{};                  // of a handover beyond its flush: store, dial, ready
};

struct DrainBudget {
    Duration handover{};                                      // for all of them
    std::uint64_t flush_bytes_per_second = 8U * 1024 * 1024;  // of the sink, all connections together
    std::uint32_t concurrency_max = 256;                      // what store and upstreams can bear
};

struct DrainOrder {
    std::vector<std::size_t> order;  // indices of the connections, first to last
    std::uint32_t concurrency = 1;   // the fewest at once that end within four fifths of the budget
    Duration expected{};             // the time that this takes
    bool fits = true;                // within the budget
};

// Requires concurrency_max > 0 and flush_bytes_per_second > 0.
[[nodiscard]] DrainOrder drain_order(std::span<const HeldConnection> held, const DrainBudget& budget);

// The steps of a stop, in their order.
enum class DrainStep : std::uint8_t { balancer_wait, requests, handover, flush, close };

[[nodiscard]] std::string_view text(DrainStep step);

// How long each step may take; zero leaves it out.
struct DrainSettings {
    Duration balancer_wait{};
    Duration requests{};
    Duration handover = std::chrono::seconds{20};
    Duration flush = std::chrono::seconds{5};
    Duration close = std::chrono::seconds{2};
    std::optional<Duration> grace{};  // between SIGTERM and SIGKILL, where known
};

// When each step must have ended, counted from SIGTERM.
class DrainPlan {
public:
    // Errors: for people; negative durations, and a grace below the sum of all steps and 5 s for the
    // exit itself, naming both.
    [[nodiscard]] static std::expected<DrainPlan, std::string> from(const DrainSettings& settings);

    [[nodiscard]] Duration deadline(DrainStep step) const { return deadlines_[static_cast<std::size_t>(step)]; }

    [[nodiscard]] Duration total() const { return deadline(DrainStep::close); }

    // The step whose time it is; nothing when all deadlines have passed.
    [[nodiscard]] std::optional<DrainStep> step_at(Duration since_sigterm) const;

    // The plan after a second signal at that time: what is left without waiting for balancers and
    // requests. Flushes keep their time.
    [[nodiscard]] DrainPlan without_waits(Duration since_sigterm) const;

private:
    std::array<Duration, 5> deadlines_{};
};

}  // namespace longhold::core
