// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/core/drain_order.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace longhold::core {
namespace {

// A handover that takes longer than this has waited for others.
constexpr Duration quick = std::chrono::milliseconds{50};

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

}  // namespace

DrainOrder drain_order(std::span<const HeldConnection> held, const DrainBudget& budget) {
    invariant(budget.concurrency_min > 0 && budget.concurrency_min <= budget.concurrency_max &&
                  budget.flush_bytes_per_second > 0,
              "a drain has a budget");
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
    const auto least = std::min<std::uint64_t>(budget.concurrency_min, useful);
    drain.concurrency = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, least, useful));
    // A list of jobs on n machines ends at most `longest` after the mean (Graham, 1966).
    drain.expected = flush + (drain.concurrency == 1 ? costs : costs / drain.concurrency + longest);
    drain.fits = drain.expected <= budget.handover;
    return drain;
}

// Additive increase, multiplicative decrease, as senders share a line (D. Chiu, R. Jain, "Analysis of the Increase and
// Decrease Algorithms", 1989).
void DrainPace::took(Duration time) {
    cost_ += (time - cost_) / 8;
    if (time <= quick) {
        window_ += 1;
        return;
    }
    slow_ += 1;
    if (slow_ >= window_) {  // once for all that ran beside each other
        slow_ = 0;
        window_ = std::max<double>(window_ * 0.7, at_once_min_);
    }
}

std::uint32_t DrainPace::at_once(std::size_t left, Duration running, Instant now) const {
    const Duration usable = std::max(due_ - now, Duration{1});
    const double wanted =
        std::ceil(static_cast<double>(left) * (std::max(cost_, running) / std::chrono::duration<double>{usable}));
    const auto most = static_cast<double>(std::max<std::size_t>(left, at_once_min_));
    return static_cast<std::uint32_t>(std::clamp(wanted, std::min(window_, most), most));
}

Duration DrainPace::one_within(Instant now) const {
    return std::max<Duration>(due_ - now, std::chrono::seconds{1});
}

}  // namespace longhold::core
