// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/base/overloaded.h>
#include <longhold/core/engine.h>

#include <algorithm>
#include <utility>

namespace longhold::core {
namespace {

// The rows of a read; null when it failed.
template <class Read>
const Read* read_of(const Answer& answer) {
    return std::get_if<Read>(&answer);
}

}  // namespace

std::vector<Command> Engine::step(const Event& event, Instant now) {
    std::vector<Command> commands;
    Turn turn{config_, now, commands, pending_, last_call_, random_, own_.id()};
    const bool was_member = own_.member();
    if (was_member && now >= own_.deadline()) {
        own_.lose(LossReason::expired, true, turn);
        settle(was_member);
    }
    std::visit([&](const auto& what) { take(what, turn); }, event);
    settle(was_member);
    run_parts(turn);
    settle(was_member);
    return commands;
}

void Engine::settle(bool was_member) {
    const auto status = own_.status();
    if (was_member && status != OwnSession::Status::member && status != OwnSession::Status::leaving) {
        session_lost_ = session_lost_ || own_.draining();
        holdings_.forget();
        orphans_.forget();
        hints_.forget();
        peers_.look_now();
    }
}

void Engine::run_parts(Turn& turn) {
    const bool was_member = own_.member();
    own_.tick(holdings_.count(), turn);
    settle(was_member);
    if (own_.status() != OwnSession::Status::ended) {
        peers_.tick(own_, turn);
    }
    if (own_.member()) {
        if (!own_.draining()) {
            orphans_.tick(own_, peers_, holdings_.count() + orphans_.claims_pending(), turn);
        }
        holdings_.tick(own_, turn);
    }
    tell_drained(turn);
}

void Engine::tell_drained(Turn& turn) {
    if (handing_over_ && holdings_.empty() && orphans_.claims_pending() == 0 && !std::exchange(drained_told_, true)) {
        turn.emit(Drained{.session_lost = session_lost_});
    }
}

Instant Engine::wake_at() const {
    Instant wake = own_.wake_at();
    if (own_.status() == OwnSession::Status::ended) {
        return wake;
    }
    wake = std::min(wake, peers_.wake_at(own_.id(), config_));
    if (own_.member()) {
        if (!own_.draining()) {
            wake = std::min(wake, orphans_.wake_at(room() > 0));
        }
        wake = std::min(wake, holdings_.wake_at());
    }
    return wake;
}

std::uint32_t Engine::room() const {
    const std::uint32_t taken = holdings_.count() + orphans_.claims_pending();
    return own_.draining() || taken >= config_.capacity ? 0 : config_.capacity - taken;
}

void Engine::take(const Start& event, Turn& turn) {
    own_.start(event.session, turn);
}

void Engine::take(const Tick& /*event*/, Turn& /*turn*/) {}

void Engine::take(const Closed& event, Turn& turn) {
    if (own_.member()) {
        holdings_.on_closed(event, turn);
    }
}

void Engine::take(const LoopStuck& event, Turn& turn) {
    if (own_.member()) {
        holdings_.on_loop_stuck(event, turn);
    }
}

void Engine::take(const AllLoopsStuck& /*event*/, Turn& turn) {
    own_.lose(LossReason::loops_stuck, false, turn);
}

void Engine::take(const BeginDrain& /*event*/, Turn& turn) {
    own_.begin_drain(turn);
}

void Engine::take(const HandOver& event, Turn& turn) {
    invariant(own_.draining(), "a hand-over follows the beginning of a drain");
    handing_over_ = true;
    holdings_.hand_over(event, turn);
}

void Engine::take(const EndSession& /*event*/, Turn& turn) {
    own_.begin_drain(turn);
    own_.leave(turn);
}

void Engine::take(const Hinted& event, Turn& turn) {
    if (own_.member()) {
        hints_.take(event.hint, peers_, turn);
    }
}

void Engine::take(const Answered& event, Turn& turn) {
    const auto entry = pending_.find(event.id);
    invariant(entry != pending_.end(), "an answer belongs to a call that waits for one");
    const PendingCall asked = std::move(entry->second);
    pending_.erase(entry);
    const Request& request = asked.request;
    if (asked.session != own_.id() && of_asker(asked)) {
        // What waited for it was forgotten with that session. Searches and fences of others go on.
        if (const auto* claims = std::get_if<Claims>(&request)) {
            for (const auto& claim : claims->items) {
                turn.note(News::claim_void, claim.session, claim.connection);
            }
        }
        return;
    }
    std::visit(Overloaded{[&](const Join& verb) { answer_session_verb(request, verb.row.id, event.answer, turn); },
                          [&](const Beat& verb) { answer_session_verb(request, verb.session, event.answer, turn); },
                          [&](const Leave& verb) { answer_session_verb(request, verb.session, event.answer, turn); },
                          [&](const Fence& verb) { answer_session_verb(request, verb.session, event.answer, turn); },
                          [&](const RemoveSession& verb) {
                              peers_.on_removed(verb.session, std::get<Outcome<SessionRow>>(event.answer), turn);
                          },
                          [&](const Claims& verb) {
                              if (!own_.member()) {
                                  return;  // answered after the claimer's own deadline: void
                              }
                              const auto won = orphans_.on_claims(
                                  verb, std::get<std::vector<Outcome<ConnectionRow>>>(event.answer), own_.id(), turn);
                              holdings_.take(won, own_.draining(), turn);
                          },
                          [&](const Releases& verb) {
                              const auto released = holdings_.on_releases(
                                  verb, std::get<std::vector<Outcome<ConnectionRow>>>(event.answer), turn);
                              Hints::tell_released(released, own_, orphans_.candidates(own_, peers_), peers_, turn);
                          },
                          [&](const auto& /*read*/) { answer_read(request, event.answer, turn); }},
               request);
}

bool Engine::of_asker(const PendingCall& call) {
    const SessionId& asker = call.session;
    return std::visit(
        Overloaded{[&](const Join& verb) { return verb.row.id == asker; },
                   [&](const Beat& verb) { return verb.session == asker; },
                   [&](const Leave& verb) { return verb.session == asker; },
                   [&](const Fence& verb) { return verb.session == asker; }, [](const RemoveSession&) { return false; },
                   [](const ListSessions&) { return false; },
                   [&](const GetSession& read) { return read.session == asker; }, [](const Claims&) { return true; },
                   [](const Releases&) { return true; }, [](const ListUnowned&) { return true; },
                   [&](const ListOwned& read) { return read.session == asker; }, [](const ListAll&) { return true; },
                   [](const GetConnections&) { return true; }, [](const ReadTakeover&) { return false; },
                   [](const GetSessions&) { return false; }},
        call.request);
}

void Engine::answer_session_verb(const Request& request, const SessionId& session, const Answer& answer, Turn& turn) {
    const auto& outcome = std::get<Outcome<SessionRow>>(answer);
    if (session == own_.id()) {
        own_.on_outcome(request, outcome, turn);
        if (own_.member() && own_.row().state == SessionState::draining && !std::exchange(draining_told_, true)) {
            Hints::tell_all(HintKind::draining, session, own_, peers_, turn);
        }
    } else if (const auto* fence = std::get_if<Fence>(&request)) {
        peers_.on_fence(*fence, outcome, own_.next_token(), turn);
        if (outcome.verdict == Verdict::done) {
            Hints::tell_all(HintKind::fenced, session, own_, peers_, turn);
        }
    }
}

void Engine::answer_read(const Request& request, const Answer& answer, Turn& turn) {
    const auto* rows = read_of<RowsRead>(answer);
    std::visit(Overloaded{[&](const ListSessions& /*asked*/) {
                              if (const auto* read = read_of<SessionsRead>(answer)) {
                                  peers_.on_sessions(*read, own_.id(), turn);
                              } else {
                                  peers_.on_look_failed(true, turn);
                              }
                          },
                          [&](const GetSessions& asked) {
                              if (const auto* read = read_of<SessionsRead>(answer)) {
                                  peers_.on_watched(asked, *read, turn);
                              } else {
                                  peers_.on_look_failed(false, turn);
                              }
                          },
                          [&](const GetSession& asked) {
                              const auto* read = read_of<SessionRead>(answer);
                              if (asked.session != own_.id()) {
                                  peers_.on_read_back(asked.session, read, own_.next_token(), turn);
                              } else if (read != nullptr) {
                                  own_.on_read_back(*read, turn);
                              } else {
                                  own_.on_read_back_failed(turn);
                              }
                          },
                          [&](const ListUnowned& asked) {
                              if (own_.member()) {
                                  orphans_.on_unowned(asked, rows, own_, peers_, turn);
                              }
                          },
                          [&](const ListOwned& asked) { answer_owned(asked, rows, turn); },
                          [&](const ListAll& /*asked*/) {
                              if (own_.member()) {
                                  orphans_.on_sweep(rows, own_, peers_, turn);
                              }
                          },
                          [&](const GetConnections& asked) { answer_connections(asked, rows, turn); },
                          [&](const ReadTakeover& asked) {
                              peers_.on_takeover(asked.session, read_of<TakeoverRead>(answer), turn);
                          },
                          [](const auto& /*verb*/) { invariant(false, "a verb is answered by an outcome"); }},
               request);
}

void Engine::answer_owned(const ListOwned& asked, const RowsRead* read, Turn& turn) {
    if (asked.session == own_.id()) {
        if (own_.member()) {
            holdings_.on_owned(read, own_, orphans_, room() > 0, turn);
        }
        return;
    }
    std::optional<std::size_t> found;
    if (read != nullptr) {
        found = own_.member() && !own_.draining() ? orphans_.on_owned_by_final(*read, own_, peers_, turn)
                                                  : read->rows.size();
    }
    const bool more = read != nullptr && read->more && !read->rows.empty();
    if (more) {
        turn.call(ListOwned{asked.session, read->rows.back().id});
    }
    peers_.on_owned(asked.session, found, more, turn);
}

void Engine::answer_connections(const GetConnections& asked, const RowsRead* read, Turn& turn) {
    if (!own_.member()) {
        return;
    }
    switch (asked.purpose) {
        case ReadPurpose::claim_read_back:
            holdings_.take(orphans_.on_read_back(asked, read, own_.id(), turn), own_.draining(), turn);
            return;
        case ReadPurpose::release_read_back:
            holdings_.on_read_back(asked, read, own_.id(), turn);
            return;
        case ReadPurpose::orphan_reread:
            orphans_.on_reread(asked, read, turn);
            return;
        case ReadPurpose::hint_released:
        case ReadPurpose::hint_changed:
            hints_.read_ended();
            if (read != nullptr) {
                act_on_hint(asked.purpose, *read, turn);
            }
            return;
    }
}

void Engine::act_on_hint(ReadPurpose purpose, const RowsRead& read, Turn& turn) {
    for (const auto& row : read.rows) {
        if (row.owner.is(own_.id())) {
            holdings_.on_row(row, orphans_, turn);
        } else if (purpose == ReadPurpose::hint_released && !own_.draining()) {
            orphans_.nominate_first(row, turn);
        }
    }
    if (purpose == ReadPurpose::hint_changed && !own_.draining()) {
        orphans_.nominate_unowned(read.rows, own_, peers_, turn);
    }
}

}  // namespace longhold::core
