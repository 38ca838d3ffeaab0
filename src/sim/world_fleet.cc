// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ids.h"
#include "world.h"

namespace longhold::sim {
namespace {

constexpr Nanos look_every = 200 * millisecond;
constexpr Nanos join_within = 15 * second;
constexpr Nanos hand_over_within = 25 * second;
constexpr Nanos leave_within = 5 * second;
constexpr Nanos restart_after_failure = second;

}  // namespace

void World::start_process(std::uint32_t slot) {
    Slot& place = slots_[slot];
    const bool taken = place.process != no_number && processes_[place.process]->alive() &&
                       processes_[place.process]->stage == Stage::serving && rollout_.step == Rollout::Step::idle;
    if (!place.wanted || taken) {
        return;
    }
    const auto number = static_cast<std::uint32_t>(processes_.size());
    core::EngineConfig config = plan_.config;
    const bool restarted = place.process != no_number && !processes_[place.process]->alive();
    config.worker = restarted ? processes_[place.process]->engine.config().worker : WorkerId{numbered('w', number, 3)};
    config.generation = rollout_.generation;
    config.address = plan_.hints ? "peer" : "";
    config.version = "1." + std::to_string(rollout_.generation);
    auto process = std::make_unique<Process>(number, slot, std::move(config), random_.next());
    // A machine that is off from the first: by the rate within drift_max, and by hours of wall clock.
    const auto drift = static_cast<std::uint64_t>(plan_.config.drift_max * 1e6);
    const std::int64_t ppm =
        plan_.quiet ? 0 : static_cast<std::int64_t>(random_.below(2 * drift + 1)) - static_cast<std::int64_t>(drift);
    const Instant booted{Duration{static_cast<Nanos>(random_.below(100'000)) * second + 3'600 * second}};
    process->clock = LocalClock{now_, booted, faults_over_ ? 0 : ppm};
    process->clock.jump_wall(static_cast<Nanos>(random_.below(48)) * 3'600 * second);
    place.process = number;
    live_.push_back(number);
    started_at_.push_back(now_);
    processes_.push_back(std::move(process));
    log_.note(now_, "process starts", number, slot);
    Process& started = *processes_.back();
    queue_.push(now_ + static_cast<Nanos>(random_.below(200 * millisecond)), Due::deliver, number);
    queue_.push(now_ + plan_.checkpoint_every, Due::checkpoint, number);
    step(started, core::Start{session_id(++sessions_)});
}

void World::gone(Process& process) {
    log_.note(now_, "process is gone", process.number, process.slot);
    beats_expected_ += static_cast<double>(now_ - started_at_[process.number]) /
                       static_cast<double>(plan_.config.heartbeat_every.count());
    drop_all_sockets(process);
    process.stage = Stage::gone;
    std::erase(live_, process.number);
    for (const auto& item : std::exchange(process.waiting, {})) {
        if (item.due == Due::answer_arrives || item.due == Due::call_times_out) {
            unuse(item.a);
        } else if (item.due == Due::batch_lands || item.due == Due::batch_acked) {
            batches_free_.push_back(item.a);
        }
    }
}

// ---- drains
// ------------------------------------------------------------------------------------------------------------

void World::plan_fleet() {
    if (!std::exchange(fleet_planned_, true)) {
        queue_.push(now_ + look_every, Due::fleet, 0);
    }
}

void World::begin_drain(Process& process, bool asked_by_operator) {
    plan_fleet();
    if (asked_by_operator) {
        const auto row = store_.sessions.find(process.session);
        if (row != store_.sessions.end() && !core::is_final(row->second.state)) {
            row->second.drain_requested = true;  // the worker hears of it with a heartbeat
        }
        // Should the session be lost before: the signal comes as well, later.
        process.hand_over_after = now_ + 2 * plan_.config.lease.count();
        return;
    }
    process.stage = Stage::draining;
    process.stage_since = now_;
}

void World::advance_drain(Process& process) {
    if (process.paused) {
        return;
    }
    switch (process.stage) {
        case Stage::serving:
            if (process.ended) {
                // It keeps no session: the supervisor starts another process.
                gone(process);
                queue_.push(now_ + restart_after_failure, Due::start_process, process.slot);
            } else if (process.hand_over_after > 0 && now_ > process.hand_over_after) {
                begin_drain(process, false);
            }
            return;
        case Stage::draining:
            if (!process.engine.session().draining()) {
                step(process, core::BeginDrain{});
                return;
            }
            process.stage = Stage::handing_over;
            process.stage_since = now_;
            step(process, core::HandOver{.budget = std::chrono::seconds{20}, .pending_bytes = {}});
            return;
        case Stage::handing_over:
            if (process.drained || now_ - process.stage_since > hand_over_within) {
                leave(process);
            }
            return;
        case Stage::leaving:
            if (process.ended || now_ - process.stage_since > leave_within) {
                gone(process);
            }
            return;
        case Stage::gone:
            return;
    }
}

// Nothing acts any more; what is still held is left to fencing.
void World::leave(Process& process) {
    process.revoked = true;
    drop_all_sockets(process);
    process.stage = Stage::leaving;
    process.stage_since = now_;
    if (!process.ended) {
        step(process, core::EndSession{});
    }
}

bool World::fleet_busy() const {
    if (rollout_.step != Rollout::Step::idle) {
        return true;
    }
    const bool changing = std::ranges::any_of(live_, [this](auto number) {
        const Process& process = *processes_[number];
        return process.stage != Stage::serving || process.ended || process.hand_over_after > 0;
    });
    const bool starting = std::ranges::any_of(slots_, [this](const Slot& slot) {
        return slot.wanted && (slot.process == no_number || !processes_[slot.process]->alive());
    });
    return changing || starting;
}

void World::fleet_look() {
    for (const auto number : std::vector<std::uint32_t>{live_}) {
        advance_drain(*processes_[number]);
    }
    advance_rollout();
    const bool drains = std::ranges::any_of(live_, [this](auto number) {
        const Process& process = *processes_[number];
        return process.stage != Stage::serving || process.ended || process.hand_over_after > 0;
    });
    if (drains || rollout_.step != Rollout::Step::idle) {
        plan_fleet();
    }
}

// ---- rolling deploy: start-first, one at a time
// -------------------------------------------------------------------------

void World::begin_rollout() {
    if (rollout_.step != Rollout::Step::idle || faults_over_) {
        return;
    }
    count(FaultKind::deploy);
    ++rollout_.generation;
    std::ranges::fill(rollout_.moves, 0);
    rollout_.slot = 0;
    next_of_rollout();
    plan_fleet();
}

void World::next_of_rollout() {
    while (rollout_.slot < slots_.size() && !slots_[rollout_.slot].wanted) {
        ++rollout_.slot;
    }
    if (rollout_.slot == slots_.size()) {
        rollout_.step = Rollout::Step::idle;
        ++rollouts_;
        moves_max_ = std::max<std::uint64_t>(moves_max_, std::ranges::max(rollout_.moves));
        return;
    }
    const auto slot = static_cast<std::uint32_t>(rollout_.slot);
    rollout_.former = slots_[slot].process;
    rollout_.step = Rollout::Step::joining;
    rollout_.since = now_;
    start_process(slot);
}

void World::advance_rollout() {
    if (rollout_.step == Rollout::Step::idle) {
        return;
    }
    Process* const former = rollout_.former == no_number ? nullptr : processes_[rollout_.former].get();
    if (rollout_.step == Rollout::Step::joining) {
        const Process& fresh = *processes_[slots_[rollout_.slot].process];
        const bool joined = fresh.alive() && fresh.may_act(now_);
        if (!joined && now_ - rollout_.since < join_within) {
            return;
        }
        rollout_.step = Rollout::Step::draining;
        rollout_.since = now_;
        if (former != nullptr && former->alive() && former->stage == Stage::serving) {
            begin_drain(*former, false);
        }
        return;
    }
    if (former == nullptr || !former->alive()) {
        ++rollout_.slot;
        next_of_rollout();
    }
}

}  // namespace longhold::sim
