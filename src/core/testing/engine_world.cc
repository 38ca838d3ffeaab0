// SPDX-License-Identifier: Apache-2.0
#include "engine_world.h"

#include <longhold/base/overloaded.h>

#include <algorithm>
#include <set>
#include <utility>

namespace longhold::core::testing {
namespace {

using namespace std::chrono_literals;

constexpr Duration hop = 1ms;  // one way between a worker and the store
constexpr Duration tick_every_min = 1ms;

Instant wake_at(const Worker& worker) {
    return std::max(worker.wake_at, worker.tick_not_before);
}

// What a caller gets that hears nothing.
Answer silence(const Request& request) {
    if (std::holds_alternative<Claims>(request) || std::holds_alternative<Releases>(request)) {
        return std::vector<Outcome<ConnectionRow>>{};
    }
    const bool is_session_verb = std::holds_alternative<Join>(request) || std::holds_alternative<Beat>(request) ||
                                 std::holds_alternative<Leave>(request) || std::holds_alternative<Fence>(request) ||
                                 std::holds_alternative<RemoveSession>(request);
    if (is_session_verb) {
        return Outcome<SessionRow>::unknown();
    }
    return ReadFailed{};
}

}  // namespace

EngineWorld::EngineWorld(std::size_t workers, EngineConfig config) {
    for (std::size_t i = 0; i < workers; ++i) {
        config.worker = WorkerId{"w" + std::to_string(i)};
        add_worker(config);
    }
}

std::size_t EngineWorld::add_worker(EngineConfig config) {
    const std::size_t index = workers_.size();
    if (config.worker.empty()) {
        config.worker = WorkerId{"w" + std::to_string(index)};
    }
    workers_.push_back(std::make_unique<Worker>(std::move(config), index + 1));
    carry_out(index, WantSession{});
    return index;
}

void EngineWorld::at(Duration after, std::size_t worker, bool to_worker, std::function<void()> work) {
    due_.emplace(now_ + after, Due{worker, std::move(work), to_worker});
}

void EngineWorld::step(std::size_t index, const Event& event) {
    Worker& worker = *workers_[index];
    if (!worker.alive) {
        return;
    }
    const auto commands = worker.engine.step(event, now_);
    worker.wake_at = worker.engine.wake_at();
    for (const auto& command : commands) {
        carry_out(index, command);
    }
    check_owners();
}

void EngineWorld::carry_out(std::size_t index, const Command& command) {
    Worker& worker = *workers_[index];
    std::visit(
        Overloaded{[&](const Call& what) { call(index, what); },
                   [&](const ExtendRight& what) {
                       worker.session = what.session;
                       worker.right_until = what.deadline;
                   },
                   [&](const DropSession& what) {
                       worker.dropped.push_back(what.session);
                       worker.open.clear();
                   },
                   [&](const WantSession&) {
                       const SessionId fresh{"s" + std::to_string(++session_number_)};
                       at(0s, index, true, [this, index, fresh] { step(index, Start{fresh}); });
                   },
                   [&](const OpenConnection& what) {
                       worker.open[what.row.id] = what.row.epoch;
                       worker.resumed_from[what.row.id] = what.row.cursor;
                   },
                   [&](const CloseConnection& what) {
                       at(worker.flush_takes + std::min(worker.close_takes, what.within.value_or(worker.close_takes)),
                          index, true, [this, index, what] {
                              auto& open = workers_[index]->open;
                              const auto entry = open.find(what.connection);
                              if (entry == open.end() || entry->second != what.epoch) {
                                  return;
                              }
                              open.erase(entry);
                              step(index, Closed{what.connection, what.epoch,
                                                 Cursor{.epoch = what.epoch, .ordinal = 7, .value = "7"}});
                          });
                   },
                   [&](const AbortConnection& what) { worker.open.erase(what.connection); },
                   [&](const UpdateConnection& what) { worker.updated.push_back(what.row.id.text()); },
                   [&](const TellPeer& what) { tell(index, what); },
                   [&](const DrainAsked&) { worker.drain_asked = true; },
                   [&](const Drained& what) { (what.session_lost ? worker.lost_in_drain : worker.drained) = true; },
                   [&](const SessionEnded& what) { worker.ended = what.left; },
                   [&](const Notice& what) { ++worker.news[what.news]; }},
        command);
}

void EngineWorld::tell(std::size_t index, const TellPeer& what) {
    ++workers_[index]->told[what.hint.kind];
    for (std::size_t i = 0; hints && i < workers_.size(); ++i) {
        if (workers_[i]->alive && workers_[i]->session == what.peer) {
            at(hop, i, true, [this, i, hint = what.hint] { step(i, Hinted{hint}); });
        }
    }
}

void EngineWorld::call(std::size_t index, const Call& call) {
    const Fate what = outage ? Fate::lose_request : fate ? fate(index, call.request) : Fate::pass;
    const EngineConfig& config = workers_[index]->engine.config();
    const auto request = call.request;
    const auto id = call.id;
    switch (what) {
        case Fate::pass:
            at(hop, index, false,
               [this, index, id, request, &config] { answer(index, id, store.apply(request, config), hop); });
            return;
        case Fate::lose_request:
            answer(index, id, silence(request), call.timeout);
            return;
        case Fate::fail_at_once:
            answer(index, id, silence(request), hop);
            return;
        case Fate::hold_answer:
            held_answers_.push_back(
                [this, index, id, answer = store.apply(request, config)] { step(index, Answered{id, answer}); });
            return;
        case Fate::lose_answer:
            at(hop, index, false, [this, request, &config] { store.apply(request, config); });
            answer(index, id, silence(request), call.timeout);
            return;
        case Fate::delay_write:
            at(call.timeout + 300ms, index, false, [this, request, &config] { store.apply(request, config); });
            answer(index, id, silence(request), call.timeout);
            return;
    }
}

void EngineWorld::answer(std::size_t index, CallId id, Answer answer, Duration after) {
    at(after, index, true, [this, index, id, answer = std::move(answer)] { step(index, Answered{id, answer}); });
}

void EngineWorld::let_answers_go() {
    for (const auto& deliver : std::exchange(held_answers_, {})) {
        deliver();
    }
}

void EngineWorld::resume(std::size_t index) {
    worker(index).paused = false;
    step(index, Tick{});
}

void EngineWorld::drain(std::size_t index) {
    step(index, BeginDrain{});
    step(index, HandOver{});
}

std::size_t EngineWorld::acting_owners(const std::string& connection) const {
    return static_cast<std::size_t>(std::ranges::count_if(workers_, [&](const auto& worker) {
        return worker->alive && now_ < worker->right_until && worker->open.contains(ConnectionId{connection});
    }));
}

bool EngineWorld::all_held_once() const {
    return std::ranges::all_of(store.connections, [this](const auto& entry) {
        return acting_owners(entry.first.text()) == (entry.second.desired == DesiredState::started ? 1U : 0U);
    });
}

void EngineWorld::check_owners() {
    for (const auto& [id, row] : store.connections) {
        owners_max_ = std::max(owners_max_, acting_owners(id.text()));
    }
}

bool EngineWorld::advance(Instant limit) {
    Instant next = limit;
    for (const auto& worker : workers_) {
        if (worker->alive && !worker->paused) {
            next = std::min(next, wake_at(*worker));
        }
    }
    auto due = due_.begin();
    while (due != due_.end() && workers_[due->second.worker]->paused && due->second.to_worker) {
        ++due;
    }
    if (due != due_.end() && due->first <= next) {
        now_ = std::max(now_, due->first);
        const Due what = std::move(due->second);
        due_.erase(due);
        if (workers_[what.worker]->alive || !what.to_worker) {
            what.work();
        }
        return true;
    }
    now_ = std::max(now_, next);
    if (next >= limit) {
        return false;
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i]->alive && !workers_[i]->paused && wake_at(*workers_[i]) <= now_) {
            step(i, Tick{});
            // What is due and cannot be done yet waits for an answer: no turning on the spot, as in the real shell.
            workers_[i]->tick_not_before = now_ + tick_every_min;
        }
    }
    return true;
}

bool EngineWorld::run_until(const std::function<bool()>& until, Duration within) {
    const Instant limit = now_ + within;
    while (!until()) {
        if (!advance(limit)) {
            return until();
        }
    }
    return true;
}

bool EngineWorld::hold(int connections) {
    const auto knows_all = [this](const auto& worker) {
        return !worker->session.empty() && worker->engine.active_peers() + 1 >= workers_.size();
    };
    if (!run_until([&] { return std::ranges::all_of(workers_, knows_all); }, std::chrono::seconds{10})) {
        return false;
    }
    for (int i = 0; i < connections; ++i) {
        store.put("c" + std::to_string(i));
    }
    return run_until([this] { return all_held_once(); }, std::chrono::seconds{5});
}

void EngineWorld::run_for(Duration duration) {
    const Instant limit = now_ + duration;
    while (advance(limit)) {
    }
}

}  // namespace longhold::core::testing
