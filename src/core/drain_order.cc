// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/core/drain_order.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace longhold::core {
namespace {

constexpr Duration exit_time = std::chrono::seconds{5};
constexpr std::array steps{DrainStep::balancer_wait, DrainStep::requests, DrainStep::handover, DrainStep::flush,
                           DrainStep::close};

// Flushes that differ by less than a factor of two take the same time, as far as an order goes.
int size_class(std::uint64_t bytes) {
    constexpr std::uint64_t smallest = 4096;
    return static_cast<int>(std::bit_width(bytes / smallest));
}

bool earlier(const HeldConnection& a, const HeldConnection& b) {
    const auto key = [](const HeldConnection& held) {
        return std::tuple{held.desired != DesiredState::started, size_class(held.pending_bytes), held.stability,
                          -held.active_at.time_since_epoch(), held.cost};
    };
    const auto a_key = key(a);
    const auto b_key = key(b);
    return a_key != b_key ? a_key < b_key : a.id < b.id;
}

Duration part_of(const DrainSettings& settings, DrainStep step) {
    switch (step) {
        case DrainStep::balancer_wait:
            return settings.balancer_wait;
        case DrainStep::requests:
            return settings.requests;
        case DrainStep::handover:
            return settings.handover;
        case DrainStep::flush:
            return settings.flush;
        case DrainStep::close:
            return settings.close;
    }
    std::unreachable();
}

}  // namespace

DrainOrder drain_order(std::span<const HeldConnection> held, const DrainBudget& budget) {
    invariant(budget.concurrency_max > 0 && budget.flush_bytes_per_second > 0, "a drain has a budget");
    DrainOrder drain;
    drain.order.resize(held.size());
    std::iota(drain.order.begin(), drain.order.end(), std::size_t{0});
    std::ranges::sort(drain.order, [&](std::size_t a, std::size_t b) { return earlier(held[a], held[b]); });

    // Handovers run beside each other; what they flush goes through one sink.
    Duration costs{};
    Duration longest{};
    double bytes = 0;
    for (const auto& one : held) {
        costs += one.cost;
        longest = std::max(longest, one.cost);
        bytes += static_cast<double>(one.pending_bytes);
    }
    const double seconds = std::min(bytes / static_cast<double>(budget.flush_bytes_per_second), 1e9);
    const Duration flush = scale(std::chrono::seconds{1}, seconds);
    const Duration usable = std::max(budget.handover * 4 / 5 - flush - longest, Duration{1});
    const auto wanted = static_cast<std::uint64_t>((costs + usable - Duration{1}) / usable);
    const auto useful = std::clamp<std::uint64_t>(held.size(), 1, budget.concurrency_max);
    drain.concurrency = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, useful));
    // A list of jobs on n machines ends at most `longest` after the mean (Graham, 1966).
    drain.expected = flush + (drain.concurrency == 1 ? costs : costs / drain.concurrency + longest);
    drain.fits = drain.expected <= budget.handover;
    return drain;
}

std::string_view text(DrainStep step) {
    switch (step) {
        case DrainStep::balancer_wait:
            return "balancer_wait";
        case DrainStep::requests:
            return "requests";
        case DrainStep::handover:
            return "handover";
        case DrainStep::flush:
            return "flush";
        case DrainStep::close:
            return "close";
    }
    std::unreachable();
}

std::expected<DrainPlan, std::string> DrainPlan::from(const DrainSettings& settings) {
    DrainPlan plan;
    Duration sum{};
    std::string terms;
    for (const auto step : steps) {
        const Duration part = part_of(settings, step);
        const std::string name{core::text(step)};
        if (part < Duration::zero()) {
            return std::unexpected("drain." + name + " is below zero");
        }
        sum += part;
        plan.deadlines_[static_cast<std::size_t>(step)] = sum;
        if (part > Duration::zero()) {
            terms += name + " " + format_duration(part) + " + ";
        }
    }
    if (settings.grace && *settings.grace < sum + exit_time) {
        return std::unexpected("drain: " + terms + format_duration(exit_time) + " to exit is " +
                               format_duration(sum + exit_time) + ", but drain.grace is " +
                               format_duration(*settings.grace) +
                               "; give the process more time to stop, or shorten a step");
    }
    return plan;
}

std::optional<DrainStep> DrainPlan::step_at(Duration since_sigterm) const {
    for (const auto step : steps) {
        if (since_sigterm < deadline(step)) {
            return step;
        }
    }
    return std::nullopt;
}

DrainPlan DrainPlan::without_waits(Duration since_sigterm) const {
    DrainPlan plan = *this;
    const Duration waited_until = deadline(DrainStep::requests);
    const Duration saved = std::max(waited_until - since_sigterm, Duration::zero());
    for (const auto step : steps) {
        auto& at = plan.deadlines_[static_cast<std::size_t>(step)];
        at = step <= DrainStep::requests ? std::min(at, since_sigterm) : at - saved;
    }
    return plan;
}

}  // namespace longhold::core
