// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/peers.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace longhold::core {
namespace {

// A counter that no heartbeat reaches: a Fence that names it can create a row but never end a session that is there.
constexpr std::uint64_t counter_never = std::numeric_limits<std::uint64_t>::max();

// How often what a final session owned is looked for, while there was something.
constexpr Duration search_every = std::chrono::milliseconds{500};

}  // namespace

void Peers::tick(OwnSession& own, Turn& turn) {
    if (!looking_ && turn.now >= look_due(own.id(), turn.config)) {
        looking_ = true;
        last_look_ = turn.now;
        turn.call(ListSessions{});
    }
    for (auto& [id, peer] : peers_) {
        if (id == own.id()) {
            continue;
        }
        if (is_final(peer.row.state)) {
            tick_final(peer, turn);
        } else {
            tick_live(peer, own, turn);
        }
    }
    for (auto& [id, absent] : absent_) {
        if (!absent.asked && turn.now >= absent.ask_at) {
            absent.asked = true;
            turn.call(GetSession{id});
        }
    }
}

Instant Peers::fence_due(const Peer& peer, const EngineConfig& config) {
    return std::max(peer.seen_at + config.suspect_after(peer.row.lease), peer.fence_at);
}

void Peers::tick_live(Peer& peer, OwnSession& own, Turn& turn) {
    if (peer.fencing || turn.now < fence_due(peer, turn.config)) {
        return;
    }
    peer.fencing = true;
    turn.call(Fence{.session = peer.row.id,
                    .counter_expected = peer.row.counter,
                    .attempt = own.next_token(),
                    .create_if_absent = false});
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

Instant Peers::look_due(const SessionId& own, const EngineConfig& config) const {
    if (!looked_once_) {
        return last_look_ == Instant{} ? Instant{} : last_look_ + config.look_every;
    }
    // A session that dies young is watched from its first look on, so new ones are looked for as often as unowned rows,
    // even when no known session is due.
    Instant due = last_look_ + config.unowned_every;
    for (const auto& [id, peer] : peers_) {
        if (id != own && !is_final(peer.row.state)) {
            due = std::min(due, peer.seen_at + peer.row.heartbeat_every);
        }
    }
    return std::max(due, last_look_ + config.look_every);
}

Instant Peers::wake_at(const SessionId& own, const EngineConfig& config) const {
    Instant wake = looking_ ? Instant::max() : look_due(own, config);
    for (const auto& [id, peer] : peers_) {
        if (id == own) {
            continue;
        }
        if (!is_final(peer.row.state)) {
            if (!peer.fencing) {
                wake = std::min(wake, fence_due(peer, config));
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

void Peers::on_sessions(const SessionsRead& read, const SessionId& own, Turn& turn) {
    looking_ = false;
    looked_once_ = true;
    std::set<SessionId> present;
    for (const auto& row : read.rows) {
        present.insert(row.id);
        if (row.id != own) {
            take_in(row, turn);
        }
    }
    // A row that is gone was final and removed. One's own old sessions are peers like all others.
    std::erase_if(peers_, [&](const auto& entry) {
        return !present.contains(entry.first) && !entry.second.fencing && !entry.second.removing;
    });
}

void Peers::on_look_failed(Turn& /*turn*/) {
    looking_ = false;
}

void Peers::take_in(const SessionRow& row, Turn& turn) {
    absent_.erase(row.id);
    const auto [entry, fresh] = peers_.try_emplace(row.id, Peer{.row = row, .seen_at = turn.now});
    Peer& peer = entry->second;
    if (fresh || is_final(peer.row.state)) {
        return;  // a final state never changes, whatever an older answer says
    }
    if (is_final(row.state)) {
        peer.row = row;
        peer.search_at = turn.now;
        return;
    }
    if (row.counter > peer.row.counter) {
        peer.seen_at = turn.now;
        peer.row = row;
    }
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
        peers_.erase(fence.session);
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
    peers_.erase(session);
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

void Peers::look_now() {
    looked_once_ = false;
    last_look_ = Instant{};
}

}  // namespace longhold::core
