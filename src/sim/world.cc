// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>

#include "ids.h"

namespace longhold::sim {
namespace {

constexpr Nanos settle_look_every = 500 * millisecond;

}  // namespace

World::World(const Plan& plan, Plant plant, const std::function<void(const std::string&)>& lines)
    : plan_(plan),
      plant_(plant),
      log_(lines),
      network_(plan, faults_),
      store_([&plan] {
          ModelStore store;
          for (std::uint32_t i = 0; i < plan.connections; ++i) {
              store.put(connection_id(i).text(),
                        i % 10 == 9 ? core::DesiredState::stopped : core::DesiredState::started);
          }
          return store;
      }()),
      former_(plan.connections),
      delivery_(plan),
      checker_(store_, plan.connections),
      random_(Random{plan.seed ^ 0x7368656c6cULL}.next()),
      holders_(plan.connections),
      crashed_at_(plan.connections, -1) {
    rollout_.moves.resize(plan.connections);
    for (std::uint32_t i = 0; i < plan.workers; ++i) {
        slots_.push_back(Slot{.process = no_number});
        queue_.push(static_cast<Nanos>(random_.below(second)), Due::start_process, i);
    }
    for (std::uint32_t i = 0; i < plan.faults.size(); ++i) {
        queue_.push(plan.faults[i].at, Due::fault_begins, i);
    }
}

RunResult World::run() {
    const ObservedMarks observed{marks_};
    Nanos look_at = plan_.run_for;
    while (!checker_.violation() && !settled_at_) {
        if (queue_.empty() || queue_.next_at() >= look_at) {
            now_ = look_at;
            look_at += settle_look_every;
            settle();
            continue;
        }
        const Item item = queue_.pop();
        now_ = item.at;
        handle(item);
        check_owners();
    }
    return result();
}

void World::handle(const Item& item) {
    switch (item.due) {
        case Due::call_arrives:
            arrive(item.a);
            return;
        case Due::page_arrives:
            page_arrives(item.a);
            return;
        case Due::batch_lands:
            batch_lands(item.a);
            return;
        case Due::fault_begins:
            begin_fault(item.a);
            return;
        case Due::fault_ends:
            end_fault(item.a);
            return;
        case Due::start_process:
            start_process(item.a);
            return;
        case Due::resume:
            resume(*processes_[item.a]);
            return;
        case Due::fleet:
            fleet_planned_ = false;
            fleet_look();
            return;
        case Due::recovery_due:
            recovery_due(item.a);
            return;
        case Due::answer_arrives:
        case Due::call_times_out:
            handle_for_process(*processes_[letters_[item.a].process], item);
            return;
        case Due::batch_acked:
            handle_for_process(*processes_[batches_[item.a].process], item);
            return;
        case Due::wake:
        case Due::deliver:
        case Due::close_looks:
        case Due::checkpoint:
        case Due::hint_arrives:
            handle_for_process(*processes_[item.a], item);
            return;
    }
}

void World::handle_for_process(Process& process, const Item& item) {
    if (process.paused && process.alive()) {
        process.waiting.push_back(item);
    } else if (item.due == Due::answer_arrives || item.due == Due::call_times_out) {
        answer(process, item);
    } else if (item.due == Due::batch_acked) {
        batch_acked(process, item.a);
    } else if (item.due == Due::batch_lands) {
        batch_lands(item.a);
    } else if (!process.alive()) {
        return;
    } else if (item.due == Due::wake) {
        wake(process, item);
    } else if (item.due == Due::deliver) {
        deliver(process);
    } else if (item.due == Due::checkpoint) {
        checkpoint(process);
    } else if (item.due == Due::hint_arrives) {
        hinted(process, item.b);
    } else {
        look_at_close(process, static_cast<std::uint32_t>(item.b >> 40U), item.b & ((1ULL << 40U) - 1));
    }
}

void World::check_owners() {
    if (contested_.empty()) {
        return;
    }
    std::erase_if(contested_, [this](std::uint32_t connection) { return holders_[connection].size() < 2; });
    for (const auto connection : contested_) {
        const Process* acting = nullptr;
        for (const auto number : holders_[connection]) {
            const Process& process = *processes_[number];
            if (!process.may_act(now_)) {
                continue;
            }
            if (acting != nullptr && !plan_.beyond_drift) {
                checker_.violate(now_, Invariant::one_owner,
                                 acting->session.text() + " and " + process.session.text() + " both act for " +
                                     connection_id(connection).text());
            }
            acting = &process;
        }
    }
}

// ---- the end
// -----------------------------------------------------------------------------------------------------------

void World::settle() {
    const core::EngineConfig& config = plan_.config;
    if (!faults_over_) {
        faults_over_ = true;
        end_faults();
    }
    if (fleet_busy() || settle_until_ == 0) {
        // Detection, the search for owners without a session, and two searches of what a final session owned.
        settle_until_ = now_ + 6 * config.lease.count() + 2 * config.sweep_every.count() + 15 * second;
    }
    const std::string why = unsettled();
    if (why.empty()) {
        settled_at_ = now_;
        const std::string missing = delivery_.missing();
        if (!missing.empty()) {
            checker_.violate(now_, Invariant::nothing_lost, missing);
        }
        check_writes();
    } else if (now_ >= settle_until_) {
        checker_.violate(now_, Invariant::liveness,
                         std::to_string((now_ - plan_.run_for) / second) + " s after the last fault " + why);
    }
}

std::string World::unsettled() const {
    if (fleet_busy()) {
        return "the fleet is still changing";
    }
    for (const auto& [id, row] : store_.connections) {
        std::string why = unsettled(number_of(id), row);
        if (!why.empty()) {
            return why;
        }
    }
    for (const auto& [id, row] : store_.sessions) {
        if (core::is_final(row.state)) {
            return "the final session " + id.text() + " has not been removed";
        }
        const bool known = std::ranges::any_of(
            live_, [&](auto number) { return processes_[number]->may_act(now_) && processes_[number]->session == id; });
        if (!known) {
            return "the session " + id.text() + " belongs to no live worker and is not final";
        }
    }
    return {};
}

std::string World::unsettled(std::uint32_t connection, const core::ConnectionRow& row) const {
    const std::string& name = row.id.text();
    const auto& holders = holders_[connection];
    if (row.desired != core::DesiredState::started) {
        if (!holders.empty()) {
            return name + ", which is not wanted, is still held";
        }
        return row.owner.is_session() ? name + ", which is not wanted, still names an owner" : std::string{};
    }
    if (holders.size() != 1) {
        return name + " has " + std::to_string(holders.size()) + " owners";
    }
    const Process& process = *processes_[holders.front()];
    const Socket& socket = process.sockets.at(connection);
    if (!process.may_act(now_) || !row.owner.is(process.session) || row.epoch != socket.epoch) {
        return name + " is held by " + process.session.text() + ", and its row says otherwise";
    }
    const bool caught_up = delivery_.reached(connection) >= delivery_.count(connection, plan_.run_for);
    return caught_up ? std::string{} : name + " is held, and its messages do not reach the sink";
}

void World::check_writes() {
    double beats = beats_expected_;
    for (const auto number : live_) {
        beats +=
            static_cast<double>(now_ - started_at_[number]) / static_cast<double>(plan_.config.heartbeat_every.count());
    }
    const auto claims = static_cast<double>(checker_.claims_done());
    const auto told = static_cast<double>(plan_.faults.size());
    const auto sessions = static_cast<double>(sessions_);
    const double pages_each = static_cast<double>(plan_.connections) / 100 + 1;
    const double rounds =
        beats * static_cast<double>(plan_.config.heartbeat_every.count()) / static_cast<double>(plan_.checkpoint_every);
    const auto wrote = [this](std::uint64_t writes, double bound, const char* what) {
        if (static_cast<double>(writes) > bound) {
            checker_.violate(now_, Invariant::cheap,
                             std::to_string(writes) + " writes of " + what + ", more than " +
                                 std::to_string(static_cast<std::uint64_t>(bound)));
        }
    };
    // Heartbeats and what faults make of them; for each session its join, end and removal, tried by several.
    wrote(session_writes_, 1.5 * beats + 10 * sessions + 10 * told, "session rows");
    // For each claim its release, and what was lost to others.
    wrote(owner_writes_, 4 * (claims + static_cast<double>(changes_)) + 200, "owners");
    wrote(page_writes_, rounds * pages_each + sessions * pages_each, "cursor pages");
}

RunResult World::result() {
    RunResult result{.seed = plan_.seed,
                     .hash = log_.hash(),
                     .violation = checker_.violation(),
                     .simulated = now_,
                     .settled_after = now_ - plan_.run_for,
                     .events = events_,
                     .owner_changes = checker_.owner_changes(),
                     .messages = messages_,
                     .records_late = delivery_.records_late(),
                     .gaps = delivery_.gaps(),
                     .writes = store_.writes,
                     .recovery_max = recovery_max_,
                     .rollouts = rollouts_,
                     .moves_max = moves_max_,
                     .faults = faults_};
    result.marks = marks_.counts();
    return result;
}

}  // namespace longhold::sim
