// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/overloaded.h>

#include <algorithm>
#include <utility>

#include "ids.h"
#include "world.h"

namespace longhold::sim {
namespace {

constexpr Nanos tick_every_min = millisecond;  // as in the real shell
constexpr Nanos flush_within = 5 * second;
constexpr std::uint64_t epoch_bits = 40;
constexpr std::uint64_t not_open = 1ULL << (epoch_bits - 1);

std::uint64_t socket_key(std::uint32_t connection, Epoch epoch) {
    return std::uint64_t{connection} << epoch_bits | epoch.value;
}

// What a caller gets that hears nothing.
core::Answer silence(const core::Request& request) {
    if (std::holds_alternative<core::Claims>(request) || std::holds_alternative<core::Releases>(request)) {
        return std::vector<core::Outcome<core::ConnectionRow>>{};
    }
    const bool session_verb =
        std::holds_alternative<core::Join>(request) || std::holds_alternative<core::Beat>(request) ||
        std::holds_alternative<core::Leave>(request) || std::holds_alternative<core::Fence>(request) ||
        std::holds_alternative<core::RemoveSession>(request);
    if (session_verb) {
        return core::Outcome<core::SessionRow>::unknown();
    }
    return core::ReadFailed{};
}

}  // namespace

void World::step(Process& process, const core::Event& event) {
    ++events_;
    log_.event(now_, process.number, event);
    auto commands = process.engine.step(event, process.clock.at(now_));
    bool wants_session = false;
    for (auto& command : commands) {
        log_.command(now_, process.number, command);
        mark_command(command);
        wants_session = wants_session || std::holds_alternative<core::WantSession>(command);
        carry_out(process, command);
    }
    if (wants_session) {
        step(process, core::Start{session_id(++sessions_)});
        return;
    }
    plan_wake(process);
}

void World::carry_out(Process& process, core::Command& command) {
    std::visit(
        Overloaded{[&](core::Call& what) { send(process, std::move(what)); },
                   [&](const core::ExtendRight& what) { extend_right(process, what); },
                   [&](const core::DropSession& what) {
                       if (what.session == process.session) {
                           process.revoked = true;
                       }
                       drop_all_sockets(process);
                   },
                   [](const core::WantSession&) {}, [&](const core::OpenConnection& what) { open(process, what); },
                   [&](const core::CloseConnection& what) { close(process, what); },
                   [&](const core::AbortConnection& what) {
                       const auto connection = number_of(what.connection);
                       const auto socket = process.sockets.find(connection);
                       if (socket != process.sockets.end() && socket->second.epoch == what.epoch) {
                           drop_socket(process, connection);
                       }
                   },
                   [](const core::UpdateConnection&) {}, [&](core::TellPeer& what) { tell(process, std::move(what)); },
                   [&](const core::DrainAsked&) {
                       // As the real one: after the step.
                       if (process.stage == Stage::serving) {
                           process.stage = Stage::draining;
                           process.stage_since = now_;
                           plan_fleet();
                       }
                   },
                   [&](const core::Drained&) { process.drained = true; },
                   [&](const core::SessionEnded&) {
                       process.ended = true;
                       plan_fleet();
                   },
                   [&](const core::Notice& what) {
                       if (what.news == core::News::released) {
                           process.noted.erase(number_of(what.connection));
                       }
                   }},
        command);
}

// Hints go over the same bad network as calls, and now and then one is made up: nothing may depend on them.
void World::tell(Process& process, core::TellPeer command) {
    const Fate fate = network_.fate(process.slot);
    if (random_.below(20) == 0) {
        command.hint.kind = static_cast<core::HintKind>(random_.below(4));
        command.hint.connections.push_back(connection_id(static_cast<std::uint32_t>(random_.below(plan_.connections))));
        marks_.reached("a hint was not true");
    }
    if (fate.call_lost) {
        return;
    }
    for (const auto number : live_) {
        if (processes_[number]->engine.session().id() == command.peer) {
            queue_.push(now_ + fate.there, Due::hint_arrives, number, hints_.size());
            if (fate.again) {
                queue_.push(now_ + fate.there + fate.again_after, Due::hint_arrives, number, hints_.size());
            }
        }
    }
    hints_.push_back(std::move(command));
}

void World::hinted(Process& process, std::uint64_t number) {
    const core::TellPeer& told = hints_[number];
    if (process.engine.session().id() != told.peer) {
        return;  // of a former session
    }
    marks_.reached("a hint arrived");
    step(process, core::Hinted{told.hint});
}

void World::plan_wake(Process& process) {
    const Instant wanted = process.engine.wake_at();
    const Nanos at = std::max({process.clock.when(wanted), process.tick_not_before, now_});
    if (at < process.wake_at) {
        process.wake_at = at;
        queue_.push(at, Due::wake, process.number, ++process.wake_number);
    }
}

void World::wake(Process& process, const Item& item) {
    if (item.b != process.wake_number) {
        return;  // an earlier one was planned since
    }
    process.wake_at = INT64_MAX;
    if (process.engine.wake_at() <= process.clock.at(now_)) {
        // What is due and cannot be done yet waits for an answer: no turning on the spot.
        process.tick_not_before = now_ + tick_every_min;
        step(process, core::Tick{});
        return;
    }
    plan_wake(process);
}

// ---- calls
// -------------------------------------------------------------------------------------------------------------

void World::send(Process& process, core::Call call) {
    note_given(process, call.request);
    add_noted_cursors(process, call.request);
    const std::uint32_t number = new_letter();
    Letter& letter = letters_[number];
    letter.process = process.number;
    letter.id = call.id;
    letter.request = std::move(call.request);
    letter.times_out_at = process.clock.when(process.clock.at(now_) + call.timeout);
    dispatch(number, network_.fate(process.slot));
}

// After sending a verb that gives a right away, nothing acts on that epoch again.
void World::note_given(Process& process, const core::Request& request) {
    if (const auto* releases = std::get_if<core::Releases>(&request)) {
        for (const auto& item : releases->items) {
            if (item.session != process.engine.session().id()) {
                sometimes(true, "what a dead session held and nobody wants was freed");
                continue;
            }
            const auto connection = number_of(item.connection);
            checker_.given_away(connection, item.epoch);
            const auto socket = process.sockets.find(connection);
            if (socket != process.sockets.end() && socket->second.epoch == item.epoch) {
                checker_.violate(now_, Invariant::given_away,
                                 item.session.text() + " releases " + item.connection.text() + " while it is open");
            }
        }
    } else if (const auto* leave = std::get_if<core::Leave>(&request)) {
        if (!process.sockets.empty()) {
            checker_.violate(now_, Invariant::given_away, leave->session.text() + " leaves while it holds connections");
        }
    }
}

// A row of this session that is claimed anew does not have what this session knows of it: the claim writes it there.
void World::add_noted_cursors(Process& process, core::Request& request) const {
    auto* const claims = std::get_if<core::Claims>(&request);
    if (claims == nullptr) {
        return;
    }
    for (auto& claim : claims->items) {
        if (!claim.owner_expected.is(claim.session)) {
            continue;
        }
        sometimes(true, "a worker gave its own late claim's row a new epoch");
        const auto noted = process.noted.find(number_of(claim.connection));
        if (noted != process.noted.end() && core::further(noted->second, claim.cursor)) {
            claim.cursor = noted->second;
        }
    }
}

void World::answer(Process& process, const Item& item) {
    Letter& letter = letters_[item.a];
    if (!process.alive() || process.ended) {
        unuse(item.a);
        return;
    }
    core::Answered event{.id = letter.id, .answer = {}};
    // After a pause both are there: the answer, and the timer that says it is too late.
    const bool too_late = item.due == Due::answer_arrives && now_ > letter.times_out_at && random_.below(2) == 0;
    if (item.due == Due::call_times_out || too_late) {
        event.answer = silence(letter.request);
    } else {
        event.answer = std::move(letter.answer);
        if (letter.error) {
            auto* const batch = std::get_if<std::vector<core::Outcome<core::ConnectionRow>>>(&event.answer);
            if (batch != nullptr && random_.below(2) == 0) {
                for (auto& outcome : *batch) {
                    if (random_.below(2) == 0) {
                        sometimes(batch->size() > 1, "only a part of a batch was answered");
                        outcome = core::Outcome<core::ConnectionRow>::unknown();
                    }
                }
            } else {
                event.answer = silence(letter.request);
            }
        }
    }
    unuse(item.a);
    step(process, event);
}

// ---- rights and sockets
// ------------------------------------------------------------------------------------------------

void World::extend_right(Process& process, const core::ExtendRight& command) {
    if (process.session != command.session) {
        process.session = command.session;
        process.noted.clear();
        process.page_dirty.assign(process.page_dirty.size(), false);
        bool former_live = false;
        for (const auto& [id, row] : store_.sessions) {
            former_live = former_live || (id != command.session && !core::is_final(row.state) &&
                                          row.worker_id == process.engine.config().worker);
        }
        sometimes(former_live, "a restarted process joined before its former session was fenced");
    }
    if (!plan_.beyond_drift) {
        checker_.acts(now_, command.session);
    }
    process.revoked = false;
    process.right_until = command.deadline;
    if (plant_ == Plant::right_too_long) {
        process.right_until += 2 * plan_.config.lease;
    }
}

void World::open(Process& process, const core::OpenConnection& command) {
    const core::ConnectionRow& row = command.row;
    const auto connection = number_of(row.id);
    checker_.opened(now_, row, process.engine.session().id());
    if (plant_ == Plant::open_ignored && connection == 0) {
        return;
    }
    drop_socket(process, connection);
    const bool too_far = plant_ == Plant::resumes_too_far && row.cursor;
    auto begun = delivery_.begin(now_, row, process.session, command.held_before, too_far ? 1 : 0);
    if (!begun.wrong.empty()) {
        checker_.violate(now_, Invariant::nothing_lost, std::move(begun.wrong));
    }
    const Nanos dial = 20 * millisecond + static_cast<Nanos>(random_.below(300 * millisecond));
    process.sockets.emplace(connection, Socket{.epoch = row.epoch,
                                               .session = process.session,
                                               .base = begun.base,
                                               .reads_from = now_ + dial,
                                               .tracker = core::CursorTracker{0, row.epoch, row.cursor}});
    auto& holders = holders_[connection];
    holders.push_back(process.number);
    if (holders.size() == 2) {
        sometimes(true, "two workers held one connection, one of them without a right");
        contested_.push_back(connection);
    }
    ++rollout_.moves[connection];
    if (crashed_at_[connection] >= 0) {
        recovery_max_ = std::max(recovery_max_, now_ - crashed_at_[connection]);
        crashed_at_[connection] = -1;
    }
}

void World::close(Process& process, const core::CloseConnection& command) {
    const auto connection = number_of(command.connection);
    const auto entry = process.sockets.find(connection);
    Nanos after = millisecond;
    if (entry != process.sockets.end() && entry->second.epoch == command.epoch) {
        Socket& socket = entry->second;
        socket.closing = true;
        socket.flush_until = now_ + flush_within;
        sometimes(socket.tracker.pending() > 0 && command.reason == core::CloseReason::drain,
                  "a delivered connection's owner drained with records not acked");
        after += static_cast<Nanos>(random_.below(30 * millisecond));
        queue_.push(socket.flush_until, Due::close_looks, process.number, socket_key(connection, command.epoch));
    }
    const bool open = entry != process.sockets.end() && entry->second.closing;
    const std::uint64_t key = socket_key(connection, command.epoch) | (open ? 0 : not_open);
    queue_.push(now_ + after, Due::close_looks, process.number, key);
}

void World::look_at_close(Process& process, std::uint32_t connection, std::uint64_t epoch) {
    const auto entry = process.sockets.find(connection);
    const bool was_open = (epoch & not_open) == 0;
    epoch &= ~not_open;
    core::Closed closed{.connection = connection_id(connection), .epoch = Epoch{epoch}, .cursor = std::nullopt};
    if (entry != process.sockets.end() && entry->second.epoch.value == epoch) {
        Socket& socket = entry->second;
        if (socket.tracker.pending() > 0 && now_ < socket.flush_until) {
            return;  // its acks, or the deadline, come back to it
        }
        sometimes(socket.tracker.pending() > 0, "unacked records were dropped at a close");
        closed.cursor = socket.tracker.cursor();
        drop_socket(process, connection);
    } else if (was_open) {
        return;  // closed already, or reset
    } else if (const auto noted = process.noted.find(connection); noted != process.noted.end()) {
        closed.cursor = noted->second;
    }
    if (process.ended) {
        return;
    }
    step(process, closed);
    if (plant_ == Plant::opens_given_away) {
        auto row = store_.connections.at(closed.connection);
        row.epoch = closed.epoch;
        row.owner = core::Owner::session(process.session);
        open(process, core::OpenConnection{.row = std::move(row), .held_before = true});
    }
}

void World::drop_socket(Process& process, std::uint32_t connection) {
    if (process.sockets.erase(connection) > 0) {
        std::erase(holders_[connection], process.number);
    }
}

void World::drop_all_sockets(Process& process) {
    for (const auto& [connection, socket] : process.sockets) {
        std::erase(holders_[connection], process.number);
    }
    process.sockets.clear();
}

}  // namespace longhold::sim
