// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ids.h"
#include "world.h"

namespace longhold::sim {
namespace {

// What claims may take after a detection, at the rates of a quiet store.
constexpr Nanos claims_within = 1'500 * millisecond;

}  // namespace

void World::begin_fault(std::uint32_t index) {
    const Fault& fault = plan_.faults[index];
    log_.note(now_, text(fault.kind), fault.target, static_cast<std::uint64_t>(fault.amount));
    switch (fault.kind) {
        case FaultKind::delay:
        case FaultKind::loss:
        case FaultKind::duplicate:
        case FaultKind::reorder:
        case FaultKind::commit_error:
        case FaultKind::stale_index:
        case FaultKind::partition_calls:
        case FaultKind::partition_answers:
        case FaultKind::outage:
            network_.begin(fault);
            queue_.push(now_ + fault.duration, Due::fault_ends, index);
            return;
        case FaultKind::slow_sink:
            ++slow_sinks_;
            slow_sink_ = std::max(slow_sink_, fault.amount);
            queue_.push(now_ + fault.duration, Due::fault_ends, index);
            return;
        case FaultKind::wall_jump:
        case FaultKind::clock_rate:
        case FaultKind::drift_beyond:
            set_clock(fault);
            return;
        case FaultKind::deploy:
            begin_rollout();
            return;
        case FaultKind::scale_out:
            if (slots_.size() < 40) {
                count(fault.kind);
                slots_.push_back(Slot{.process = no_number});
                start_process(static_cast<std::uint32_t>(slots_.size() - 1));
            }
            return;
        case FaultKind::operator_start:
        case FaultKind::operator_stop:
        case FaultKind::operator_spec:
        case FaultKind::operator_delete:
            operate(fault);
            return;
        default:
            hit(fault);
            return;
    }
}

void World::end_fault(std::uint32_t index) {
    const Fault& fault = plan_.faults[index];
    if (faults_over_) {
        return;
    }
    if (fault.kind == FaultKind::slow_sink) {
        slow_sink_ = --slow_sinks_ == 0 ? 0 : slow_sink_;
    } else {
        network_.end(fault);
    }
}

// What happens to one process.
void World::hit(const Fault& fault) {
    Process* const process = target(fault);
    if (process == nullptr) {
        return;
    }
    switch (fault.kind) {
        case FaultKind::crash:
            count(fault.kind);
            crash(*process, fault.duration);
            return;
        case FaultKind::pause:
            count(fault.kind);
            pause(*process, fault.duration);
            return;
        case FaultKind::suspend:
            count(fault.kind);
            process->clock.jump_wall(fault.amount);
            pause(*process, fault.duration);
            return;
        case FaultKind::stuck_loop:
            count(fault.kind);
            stick_loop(*process, fault.target % 4 == 0);
            return;
        case FaultKind::scale_in: {
            const auto wanted = std::ranges::count_if(slots_, [](const Slot& slot) { return slot.wanted; });
            if (wanted > 3 && rollout_.step == Rollout::Step::idle) {
                count(fault.kind);
                slots_[process->slot].wanted = false;
                begin_drain(*process, fault.target % 2 == 0);
            }
            return;
        }
        default:
            return;
    }
}

void World::end_faults() {
    log_.note(now_, "faults end", 0);
    network_.end_all();
    slow_sinks_ = 0;
    slow_sink_ = 0;
    for (const auto number : std::vector<std::uint32_t>{live_}) {
        Process& process = *processes_[number];
        process.clock.set_rate(now_, 0);
        if (process.paused) {
            resume(process);
        }
        if (process.alive()) {
            process.wake_at = INT64_MAX;  // true times of its plans have changed
            plan_wake(process);
        }
    }
}

// A worker that serves and runs, or none.
Process* World::target(const Fault& fault) {
    std::vector<Process*> all;
    std::vector<Process*> draining;  // who gives its connections away is hit more often
    for (const auto number : live_) {
        Process* const process = processes_[number].get();
        const bool drains = process->stage != Stage::serving;
        const bool may_drain = fault.kind == FaultKind::crash || fault.kind == FaultKind::pause;
        if (!process->paused && !process->ended && (!drains || may_drain)) {
            all.push_back(process);
            if (drains) {
                draining.push_back(process);
            }
        }
    }
    if (!draining.empty() && fault.target % 2 == 0) {
        return draining[fault.target / 2 % draining.size()];
    }
    // One always goes on.
    return all.size() < 2 ? nullptr : all[fault.target % all.size()];
}

void World::crash(Process& process, Nanos restart_after) {
    const bool serving = process.stage == Stage::serving;
    if (plan_.quiet) {
        const auto& config = plan_.config;
        const Duration look = config.look_every + Duration{4 * plan_.hop};
        const auto detected =
            static_cast<Nanos>(static_cast<double>((look + scale(config.lease, 1 + config.drift_max)).count()) /
                               (1 - config.drift_max)) +
            config.margin.count();
        for (const auto& [connection, socket] : process.sockets) {
            crashed_at_[connection] = now_;
        }
        crashes_.push_back(now_);
        queue_.push(now_ + detected + claims_within, Due::recovery_due,
                    static_cast<std::uint32_t>(crashes_.size() - 1));
    }
    sometimes(rollout_.step != Rollout::Step::idle, "a process crashed in the middle of a deploy");
    gone(process);
    if (serving || slots_[process.slot].process == process.number) {
        queue_.push(now_ + restart_after, Due::start_process, process.slot);
    }
}

void World::recovery_due(std::uint32_t index) {
    for (std::uint32_t i = 0; i < crashed_at_.size(); ++i) {
        const auto& row = store_.connections.at(connection_id(i));
        if (crashed_at_[i] == crashes_[index] && row.desired == core::DesiredState::started) {
            checker_.violate(now_, Invariant::recovery,
                             row.id.text() + " is not held again " +
                                 std::to_string((now_ - crashes_[index]) / millisecond) +
                                 " ms after its owner crashed");
        }
    }
}

void World::pause(Process& process, Nanos duration) {
    process.paused = true;
    queue_.push(now_ + duration, Due::resume, process.number);
}

// Before anything else the watchdog looks at the deadline; then what has waited is taken in, in order.
void World::resume(Process& process) {
    if (!process.alive() || !process.paused) {
        return;
    }
    process.paused = false;
    if (!process.revoked) {
        const bool over = process.clock.at(now_) >= process.right_until;
        sometimes(over, "an owner stopped acting when it woke after its deadline");
        sometimes(!over && !process.sockets.empty(), "an owner went on when it woke before its deadline");
        if (over) {
            process.revoked = true;
            drop_all_sockets(process);
            if (!process.ended) {
                step(process, core::Tick{});
            }
        }
    }
    for (const auto& item : std::exchange(process.waiting, {})) {
        handle_for_process(process, item);
    }
    if (process.alive() && !process.ended) {
        process.wake_at = INT64_MAX;
        plan_wake(process);
    }
}

void World::set_clock(const Fault& fault) {
    if (live_.empty()) {
        return;
    }
    count(fault.kind);
    Process& process = *processes_[live_[fault.target % live_.size()]];
    if (fault.kind == FaultKind::wall_jump) {
        sometimes(!process.sockets.empty(), "a wall clock jumped while connections were held");
        process.clock.jump_wall(fault.amount);
        if (!process.paused && !process.ended) {
            step(process, core::Tick{});  // the clocks diverge: the pause check runs
        }
        return;
    }
    process.clock.set_rate(now_, fault.amount);
    if (!process.paused) {
        process.wake_at = INT64_MAX;
        plan_wake(process);
    }
}

// Half of the connections lie on a loop that does not turn any more: it loses its right, and they are released.
void World::stick_loop(Process& process, bool all) {
    if (all) {
        process.revoked = true;
        drop_all_sockets(process);
        step(process, core::AllLoopsStuck{});
        return;
    }
    std::map<ConnectionId, core::Cursor> known;
    delivery_.add_resume_points(process.session, known);
    core::LoopStuck stuck;
    std::vector<std::uint32_t> of_loop;
    for (const auto& [connection, socket] : process.sockets) {
        if (connection % 2 != 0 || socket.closing) {
            continue;
        }
        core::Closed closed{.connection = connection_id(connection), .epoch = socket.epoch, .cursor = std::nullopt};
        if (const auto noted = process.noted.find(connection); noted != process.noted.end()) {
            closed.cursor = noted->second;
        }
        // Of this epoch only: readers drop what an earlier one wrote beyond this one's resume point.
        if (const auto point = known.find(closed.connection); point != known.end() &&
                                                              point->second.epoch == socket.epoch &&
                                                              core::further(point->second, closed.cursor)) {
            closed.cursor = point->second;
        }
        stuck.connections.push_back(std::move(closed));
        of_loop.push_back(connection);
    }
    for (const auto connection : of_loop) {
        drop_socket(process, connection);
    }
    sometimes(!of_loop.empty(), "one loop's connections were released");
    step(process, stuck);
}

void World::operate(const Fault& fault) {
    const auto first = fault.target % plan_.connections;
    // The next one for which it changes something.
    for (std::uint32_t i = 0; i < plan_.connections; ++i) {
        const ConnectionId id = connection_id((first + i) % plan_.connections);
        auto& row = store_.connections.at(id);
        const bool wanted = row.desired == core::DesiredState::started;
        if (wanted == (fault.kind == FaultKind::operator_start) || row.desired == core::DesiredState::deleted) {
            if (!(fault.kind == FaultKind::operator_start && row.desired == core::DesiredState::deleted)) {
                continue;
            }
        }
        count(fault.kind);
        ++changes_;
        sometimes(!row.owner.is_session(), "an operator changed a connection that nobody owned");
        former_.changes(now_, row);
        switch (fault.kind) {
            case FaultKind::operator_start:
                store_.want(id.text(), core::DesiredState::started);
                break;
            case FaultKind::operator_stop:
                store_.want(id.text(), core::DesiredState::stopped);
                break;
            case FaultKind::operator_delete:
                store_.want(id.text(), core::DesiredState::deleted);
                break;
            default:
                row.spec = "{\"revision\":" + std::to_string(++row.spec_revision) + "}";
                break;
        }
        if (row.desired != core::DesiredState::started) {
            crashed_at_[number_of(id)] = -1;
        }
        checker_.operated(now_, id);
        return;
    }
}

}  // namespace longhold::sim
