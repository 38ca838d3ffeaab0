// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/peers.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace longhold::core {
namespace {

// A counter that no heartbeat reaches: a Fence that names it can create a row but never end a session that is there.
constexpr std::uint64_t counter_never = std::numeric_limits<std::uint64_t>::max();

// How often what a final session owned is looked for, while there was something.
constexpr Duration search_every = std::chrono::milliseconds{500};

}  // namespace

void Peers::tick(OwnSession& own, Turn& turn) {
    look(own, turn);
    for (auto& [id, peer] : peers_) {
        if (id == own.id()) {
            continue;
        }
        if (is_final(peer.row.state)) {
            tick_final(peer, turn);
        }
    }
    fence_dead(own, turn);
    for (auto& [id, absent] : absent_) {
        if (!absent.asked && turn.now >= absent.ask_at) {
            absent.asked = true;
            turn.call(GetSession{id});
        }
    }
}

void Peers::tick_final(Peer& peer, Turn& turn) {
    if (peer.searching || peer.removing || turn.now < peer.search_at) {
        return;
    }
    if (!peer.takeover_known) {
        // Nothing of the session can be claimed before it is known how far it came.
        if (!peer.takeover_asked) {
            peer.takeover_asked = true;
            turn.call(ReadTakeover{peer.row.id});
        }
        return;
    }
    peer.searching = true;
    turn.call(ListOwned{peer.row.id, ConnectionId{}});
}

Instant Peers::wake_at(const SessionId& own, const EngineConfig& config) const {
    Instant wake = looking_ ? Instant::max() : std::min(look_due(own, config), watch_due(config));
    for (const auto& [id, peer] : peers_) {
        if (id == own) {
            continue;
        }
        if (!is_final(peer.row.state)) {
            if (const Instant due = std::max(fence_due(peer, config), guard_.fence_at());
                fence_is_due(peer, due, config)) {
                wake = std::min(wake, due);
            }
        } else if (!peer.searching && !peer.removing && (peer.takeover_known || !peer.takeover_asked)) {
            wake = std::min(wake, peer.search_at);
        }
    }
    for (const auto& [id, absent] : absent_) {
        if (!absent.asked) {
            wake = std::min(wake, absent.ask_at);
        }
    }
    return wake;
}

void Peers::on_fence(const Fence& fence, const Outcome<SessionRow>& outcome, const AttemptToken& absent_token,
                     Turn& turn) {
    if (outcome.verdict == Verdict::unknown) {
        turn.note(News::unknown_outcome, fence.session);
        if (const auto absent = absent_.find(fence.session); absent != absent_.end()) {
            absent->second.fenced = true;
        }
        turn.call(GetSession{fence.session});
        return;
    }
    if (outcome.verdict == Verdict::done) {
        turn.note(fence.create_if_absent ? News::fenced_absent : News::fenced_peer, fence.session);
    }
    on_read_back(fence.session, nullptr, absent_token, turn);
    if (outcome.row) {
        take_in(*outcome.row, turn);
    } else {
        forget(fence.session);
    }
}

void Peers::on_read_back(const SessionId& session, const SessionRead* read, const AttemptToken& absent_token,
                         Turn& turn) {
    if (const auto entry = peers_.find(session); entry != peers_.end()) {
        // However it ended: if the session is still suspect afterwards, it is fenced again after a pause only.
        entry->second.fencing = false;
        entry->second.fence_at = turn.now + retry_after;
    }
    if (read == nullptr) {
        absent_.erase(session);  // the next sweep suspects it again
        return;
    }
    if (read->row) {
        take_in(*read->row, turn);
        return;
    }
    forget(session);
    const auto absent = absent_.find(session);
    if (absent == absent_.end()) {
        return;
    }
    if (std::exchange(absent->second.fenced, false)) {
        absent->second.asked = false;
        absent->second.ask_at = turn.now + retry_after;
        return;
    }
    turn.call(Fence{
        .session = session, .counter_expected = counter_never, .attempt = absent_token, .create_if_absent = true});
}

void Peers::on_removed(const SessionId& session, const Outcome<SessionRow>& outcome, Turn& turn) {
    const auto entry = peers_.find(session);
    if (entry == peers_.end()) {
        return;
    }
    if (outcome.verdict == Verdict::done || (outcome.verdict == Verdict::refused && !outcome.row)) {
        turn.note(News::removed_session, session);
        peers_.erase(entry);
        return;
    }
    entry->second.removing = false;
    entry->second.empty_since.reset();
    entry->second.search_at = turn.now + search_every;
}

void Peers::on_owned(const SessionId& session, std::optional<std::size_t> found, bool more, Turn& turn) {
    const auto entry = peers_.find(session);
    if (entry == peers_.end()) {
        return;
    }
    Peer& peer = entry->second;
    peer.found_some = peer.found_some || !found || *found > 0;
    if (more) {
        return;  // the search goes on with the next page
    }
    peer.searching = false;
    if (std::exchange(peer.found_some, false)) {
        peer.empty_since.reset();
        peer.search_at = turn.now + search_every;
        return;
    }
    if (!peer.empty_since) {
        peer.empty_since = turn.now;
        peer.search_at = turn.now + turn.config.suspect_after(peer.row.lease);
        return;
    }
    peer.removing = true;
    turn.call(RemoveSession{session});
}

void Peers::on_takeover(const SessionId& session, const TakeoverRead* read, Turn& turn) {
    const auto entry = peers_.find(session);
    if (entry == peers_.end()) {
        return;
    }
    Peer& peer = entry->second;
    if (read == nullptr) {
        peer.takeover_asked = false;
        peer.search_at = turn.now + retry_after;
        return;
    }
    peer.takeover_known = true;
    peer.cursors = read->cursors;
    peer.search_at = turn.now;
}

void Peers::suspect_absent(const SessionId& session, Turn& turn) {
    if (!looked_once_ || known(session)) {
        return;
    }
    absent_.emplace(session, Absent{});
    turn.call(GetSession{session});
}

bool Peers::is_final_session(const SessionId& session) const {
    const auto entry = peers_.find(session);
    return entry != peers_.end() && is_final(entry->second.row.state) && entry->second.takeover_known;
}

std::optional<Cursor> Peers::takeover_cursor(const SessionId& session, const ConnectionId& connection,
                                             Epoch epoch) const {
    const auto entry = peers_.find(session);
    if (entry == peers_.end()) {
        return std::nullopt;
    }
    const auto cursor = entry->second.cursors.find(connection);
    if (cursor == entry->second.cursors.end() || cursor->second.epoch != epoch) {
        return std::nullopt;
    }
    return cursor->second;
}

std::vector<SessionRow> Peers::active() const {
    std::vector<SessionRow> rows;
    for (const auto& [id, peer] : peers_) {
        if (peer.row.state == SessionState::active) {
            rows.push_back(peer.row);
        }
    }
    return rows;
}

bool Peers::any_draining() const {
    return std::ranges::any_of(peers_,
                               [](const auto& entry) { return entry.second.row.state == SessionState::draining; });
}

}  // namespace longhold::core
