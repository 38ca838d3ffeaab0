// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/random.h>
#include <longhold/sim/plan.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace longhold::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::pair<Scenario, std::string_view>, scenario_count> scenarios{
    {{Scenario::mixed, "mixed"},
     {Scenario::crash, "crash"},
     {Scenario::clocks, "clocks"},
     {Scenario::store, "store"},
     {Scenario::deploy, "deploy"},
     {Scenario::operators, "operator"}}};

constexpr std::array<std::string_view, fault_kind_count> kinds{
    "delay",          "loss",          "duplicate",       "reorder",
    "commit_error",   "stale_index",   "partition_calls", "partition_answers",
    "outage",         "crash",         "pause",           "suspend",
    "wall_jump",      "clock_rate",    "drift_beyond",    "slow_sink",
    "stuck_loop",     "deploy",        "scale_out",       "scale_in",
    "operator_start", "operator_stop", "operator_spec",   "operator_delete"};

// Draws from closed ranges.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}

    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least) + 1));
    }

    template <class All>
    const auto& of(const All& all) {
        return all[random_.below(all.size())];
    }

    bool chance(double probability) { return random_.unit() < probability; }

private:
    Random random_;
};

constexpr std::array<FaultKind, 9> store_faults{
    FaultKind::delay,        FaultKind::loss,        FaultKind::duplicate,       FaultKind::reorder,
    FaultKind::commit_error, FaultKind::stale_index, FaultKind::partition_calls, FaultKind::partition_answers,
    FaultKind::outage};
constexpr std::array<FaultKind, 4> clock_faults{FaultKind::pause, FaultKind::suspend, FaultKind::wall_jump,
                                                FaultKind::clock_rate};
constexpr std::array<FaultKind, 3> fleet_faults{FaultKind::deploy, FaultKind::scale_out, FaultKind::scale_in};
constexpr std::array<FaultKind, 4> operator_faults{FaultKind::operator_start, FaultKind::operator_stop,
                                                   FaultKind::operator_spec, FaultKind::operator_delete};
constexpr std::array<FaultKind, 3> worker_faults{FaultKind::crash, FaultKind::slow_sink, FaultKind::stuck_loop};

FaultKind draw_kind(Draw& draw, const Plan& plan) {
    switch (plan.scenario) {
        case Scenario::crash:
            return FaultKind::crash;
        case Scenario::clocks:
            return plan.beyond_drift && draw.chance(0.4) ? FaultKind::drift_beyond : draw.of(clock_faults);
        case Scenario::store:
            return draw.chance(0.85) ? draw.of(store_faults) : FaultKind::crash;
        case Scenario::deploy:
            return draw.of(fleet_faults);
        case Scenario::operators:
            return draw.chance(0.8) ? draw.of(operator_faults) : FaultKind::crash;
        case Scenario::mixed:
            break;
    }
    if (plan.beyond_drift && draw.chance(0.15)) {
        return FaultKind::drift_beyond;
    }
    const std::int64_t which = draw.between(0, 99);
    if (which < 32) {
        return draw.of(store_faults);
    }
    if (which < 54) {
        return draw.of(clock_faults);
    }
    if (which < 68) {
        return draw.of(fleet_faults);
    }
    return which < 84 ? draw.of(operator_faults) : draw.of(worker_faults);
}

void draw_config(Draw& draw, Plan& plan) {
    auto& config = plan.config;
    constexpr std::array leases{3s, 6s, 6s, 10s};
    config.lease = plan.quiet ? (draw.chance(0.5) ? 3s : 4s) : draw.of(leases);
    config.heartbeat_every = config.lease / 3;
    config.drift_max = static_cast<double>(draw.between(10, 500)) / 10'000;
    config.page_size = draw.chance(0.2) ? 10 : 100;
    config.sweep_every = draw.chance(0.3) ? 10s : 30s;
    config.version = "1.0";
    // Room for all in two workers.
    config.capacity = draw.chance(0.3) ? plan.connections * 6 / 10 + 1 : 10'000;
    // A heartbeat and its retry shall fit before the deadline, also with the worst clock.
    config.stop_margin = std::min<Duration>(100ms, config.lease / 20);
}

void draw_strength(Draw& draw, const Plan& plan, Fault& fault) {
    const Nanos lease = plan.config.lease.count();
    const auto drift_ppm = static_cast<std::int64_t>(plan.config.drift_max * 1e6);
    switch (fault.kind) {
        case FaultKind::delay:
        case FaultKind::duplicate:
        case FaultKind::reorder:
        case FaultKind::loss:
        case FaultKind::commit_error:
            fault.duration = draw.between(2, 20) * second;
            fault.amount = draw.between(20, 400);  // in a thousand
            return;
        case FaultKind::stale_index:
            fault.duration = draw.between(2, 20) * second;
            fault.amount = draw.between(50, 3'000) * millisecond;
            return;
        case FaultKind::partition_calls:
        case FaultKind::partition_answers:
            fault.duration = draw.between(lease / 4, lease * 3);
            return;
        case FaultKind::outage:
            fault.duration = draw.between(lease / 4, lease * 2);
            return;
        case FaultKind::crash:
            fault.duration = draw.between(100 * millisecond, 10 * second);  // until it is started again
            return;
        case FaultKind::pause:
            fault.duration = draw.between(lease / 2, lease * 5);
            return;
        case FaultKind::suspend:
            fault.duration = draw.between(lease / 2, lease * 4);
            fault.amount = draw.between(-3600, 3600) * second;
            return;
        case FaultKind::wall_jump:
            fault.amount = draw.between(-72 * 3600, 72 * 3600) * second;
            return;
        case FaultKind::clock_rate:
            // Often all the way, where the protocol has no room left.
            fault.amount =
                draw.chance(0.5) ? (draw.chance(0.5) ? drift_ppm : -drift_ppm) : draw.between(-drift_ppm, drift_ppm);
            return;
        case FaultKind::drift_beyond:
            fault.amount = draw.between(drift_ppm + 20'000, drift_ppm + 400'000) * (draw.chance(0.5) ? 1 : -1);
            return;
        case FaultKind::slow_sink:
            fault.duration = draw.between(5, 30) * second;
            fault.amount = draw.between(500, 15'000) * millisecond;
            return;
        default:
            return;
    }
}

void draw_faults(Draw& draw, Plan& plan) {
    const Nanos first = 4 * second;
    const Nanos last = plan.run_for - 5 * second;
    const auto minutes = plan.run_for / (60 * second);
    std::int64_t count = 10 + minutes * draw.between(1, 4);
    Nanos apart = 0;
    if (plan.quiet) {
        // Each crash is got over before the next one.
        apart = static_cast<Nanos>(3.5 * static_cast<double>(plan.config.lease.count()));
        count = std::min(count, std::max<std::int64_t>(10, (last - first) / apart - 1));
    }
    for (std::int64_t i = 0; i < count; ++i) {
        Fault fault;
        fault.kind = draw_kind(draw, plan);
        fault.at = draw.between(first, last);
        if (plan.quiet) {
            fault.at = first + (last - first) * i / count + draw.between(0, second);
        }
        fault.target = static_cast<std::uint32_t>(draw.between(0, 100'000));
        draw_strength(draw, plan, fault);
        plan.faults.push_back(fault);
    }
    std::ranges::sort(plan.faults, {},
                      [](const Fault& fault) { return std::tuple{fault.at, fault.kind, fault.target}; });
}

}  // namespace

std::string_view text(Scenario scenario) {
    return scenarios.at(static_cast<std::size_t>(scenario)).second;
}

std::optional<Scenario> scenario(std::string_view text) {
    for (const auto& [value, name] : scenarios) {
        if (name == text) {
            return value;
        }
    }
    return std::nullopt;
}

std::string_view text(FaultKind kind) {
    return kinds.at(static_cast<std::size_t>(kind));
}

Plan draw_plan(Scenario scenario, std::uint64_t seed, std::uint32_t minutes) {
    // Through one draw, so that neighbouring seeds have nothing in common.
    Draw draw{Random{seed ^ static_cast<std::uint64_t>(scenario) << 56U}.next()};
    Plan plan{.scenario = scenario, .seed = seed, .run_for = static_cast<Nanos>(minutes) * 60 * second};
    plan.workers = static_cast<std::uint32_t>(draw.between(3, 10));
    plan.connections = static_cast<std::uint32_t>(draw.between(20, 200));
    plan.hints = (seed & 3U) != 0;  // three runs of four
    plan.quiet = scenario == Scenario::crash;
    plan.beyond_drift = (scenario == Scenario::mixed || scenario == Scenario::clocks) && draw.chance(0.12);
    constexpr std::array sinks{SinkKind::local, SinkKind::remote, SinkKind::comparing};
    plan.sink = plan.beyond_drift ? SinkKind::comparing : draw.of(sinks);
    plan.hop = draw.between(200'000, 4 * millisecond);
    plan.checkpoint_every = draw.between(1, 5) * second;
    plan.message_every = draw.between(200, 3'000) * millisecond;
    draw_config(draw, plan);
    draw_faults(draw, plan);
    return plan;
}

}  // namespace longhold::sim
