// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <longhold/base/overloaded.h>
#include <longhold/base/sometimes.h>

#include <algorithm>

#include "ids.h"

namespace longhold::sim {
namespace {

// Final states never change, not even into one another.
int progress(core::SessionState state) {
    return core::is_final(state) ? 2 : state == core::SessionState::draining ? 1 : 0;
}

}  // namespace

Checker::Checker(const ModelStore& store, std::size_t connections) : store_(store), known_(connections) {
    for (const auto& [id, row] : store.connections) {
        known(id) = Known{.epoch = row.epoch, .owner = row.owner, .cursor = row.cursor};
    }
}

Checker::Known& Checker::known(const ConnectionId& id) {
    return known_.at(number_of(id));
}

void Checker::violate(Nanos now, Invariant invariant, std::string sentence) {
    if (!violation_) {
        violation_ = Violation{invariant, std::move(sentence), now};
    }
}

void Checker::before_write(const core::Request& /*request*/) {
    rows_before_ = store_.connections.size();
}

void Checker::after_write(Nanos now, const core::Request& request, const core::Answer& /*answer*/) {
    if (store_.connections.size() != rows_before_) {
        violate(now, Invariant::rows_created, "an ownership verb created or removed a connection row");
        return;
    }
    std::visit(Overloaded{[&](const core::Claims& verb) {
                              for (const auto& item : verb.items) {
                                  check_row(now, item.connection, true);
                              }
                          },
                          [&](const core::Releases& verb) {
                              for (const auto& item : verb.items) {
                                  check_row(now, item.connection, false);
                              }
                          },
                          [&](const core::Join& verb) { check_session(now, verb.row.id); },
                          [&](const core::Beat& verb) { check_session(now, verb.session); },
                          [&](const core::Leave& verb) { check_session(now, verb.session); },
                          [&](const core::Fence& verb) { check_session(now, verb.session); },
                          [&](const core::RemoveSession& verb) { check_session(now, verb.session); },
                          [](const auto& /*read*/) {}},
               request);
}

void Checker::check_row(Nanos now, const ConnectionId& id, bool may_claim) {
    const auto entry = store_.connections.find(id);
    if (entry == store_.connections.end()) {
        return;
    }
    const core::ConnectionRow& row = entry->second;
    Known& before = known(id);
    if (row.epoch < before.epoch) {
        violate(now, Invariant::epoch,
                "the epoch of " + id.text() + " went back from " + std::to_string(before.epoch.value) + " to " +
                    std::to_string(row.epoch.value));
    } else if (row.epoch > before.epoch && (!may_claim || row.epoch != before.epoch.next())) {
        violate(now, Invariant::epoch,
                "the epoch of " + id.text() + " rose from " + std::to_string(before.epoch.value) + " to " +
                    std::to_string(row.epoch.value) + ", not by one with a claim");
    } else if (row.owner.is_session() && row.owner != before.owner && row.epoch == before.epoch) {
        violate(now, Invariant::epoch, id.text() + " was given to " + row.owner.text() + " without a new epoch");
    }
    if (before.cursor && (!row.cursor || core::further(*before.cursor, *row.cursor))) {
        violate(now, Invariant::cursor_back, "the cursor in the row of " + id.text() + " went back");
    }
    if (row.epoch > before.epoch) {
        ++claims_done_;
        owner_changes_ += row.owner != before.owner ? 1 : 0;
    }
    before.epoch = row.epoch;
    before.owner = row.owner;
    before.cursor = row.cursor;
}

void Checker::check_session(Nanos now, const SessionId& id) {
    const auto entry = store_.sessions.find(id);
    if (entry == store_.sessions.end()) {
        const auto gone = states_.find(id);
        if (gone != states_.end() && !core::is_final(gone->second)) {
            violate(now, Invariant::session_state, "the row of " + id.text() + " was removed before it was final");
        }
        if (gone != states_.end()) {
            states_.erase(gone);
            removed_.insert(id);
        }
        return;
    }
    const auto [before, fresh] = states_.try_emplace(id, entry->second.state);
    // A Join that lands late makes a row that nobody acts under: it is fenced like that of a dead session.
    sometimes(fresh && removed_.contains(id), "a late Join made the row of a removed session again");
    const core::SessionState state = entry->second.state;
    const bool final_changed = core::is_final(before->second) && state != before->second;
    if (!fresh && (final_changed || progress(state) < progress(before->second))) {
        violate(now, Invariant::session_state,
                "session " + id.text() + " went from " + std::string{core::text(before->second)} + " back to " +
                    std::string{core::text(state)});
    }
    before->second = state;
}

void Checker::acts(Nanos now, const SessionId& session) {
    if (removed_.contains(session)) {
        violate(now, Invariant::session_state, session.text() + " acts, though its row was final and has been removed");
    }
}

void Checker::given_away(std::uint32_t connection, Epoch epoch) {
    known_.at(connection).given.insert(epoch.value);
}

void Checker::opened(Nanos now, const core::ConnectionRow& row, const SessionId& session) {
    Known& all = known(row.id);
    if (all.given.contains(row.epoch.value)) {
        violate(now, Invariant::given_away,
                session.text() + " opened " + row.id.text() + " in epoch " + std::to_string(row.epoch.value) +
                    ", which it had given away");
    }
    const auto [entry, fresh] = all.opened_by.try_emplace(row.epoch.value, session);
    if (!fresh) {
        violate(now, Invariant::epoch,
                row.id.text() + " was opened twice in epoch " + std::to_string(row.epoch.value) + ", by " +
                    entry->second.text() + " and " + session.text());
    }
    if (!row.owner.is(session)) {
        violate(now, Invariant::epoch,
                session.text() + " opened " + row.id.text() + ", whose row names " + row.owner.text());
    }
}

}  // namespace longhold::sim
