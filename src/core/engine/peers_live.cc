// SPDX-License-Identifier: Apache-2.0
// Observing the living: looks, clocks, who is watched closely (rule 2), fences (rules 2 and 7).
#include <longhold/core/peers.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace longhold::core {
namespace {

// At least so many looks in a lease, whatever the intervals are: an observer that is cut off notices it early.
constexpr int looks_per_lease = 4;

// A watched session whose beat is so late is about to be a suspect: all others are looked at.
Instant overdue_at(Instant seen_at, Duration heartbeat_every) {
    return seen_at + heartbeat_every * 5 / 4;
}

}  // namespace

void Peers::look(const OwnSession& own, Turn& turn) {
    if (std::exchange(members_changed_, false)) {
        choose_watched(own);
    }
    if (looking_) {
        return;
    }
    const bool watch = turn.now >= watch_due(turn.config);
    // While the whole list cannot be had, those that are watched are still looked at between its attempts.
    if (turn.now >= look_due(own.id(), turn.config) && !(watch && list_failed_)) {
        turn.call(ListSessions{});
    } else if (watch) {
        list_failed_ = false;
        turn.call(GetSessions{{watched_.begin(), watched_.end()}});
    } else {
        return;
    }
    looking_ = true;
    last_look_ = turn.now;
}

void Peers::choose_watched(const OwnSession& own) {
    std::vector<Watchable> others;
    for (const auto& [id, peer] : peers_) {
        if (id != own.id() && !is_final(peer.row.state)) {
            others.push_back({id, peer.row.zone});
        }
    }
    watched_.clear();
    if (others.size() + 1 > watch_all_max) {
        watched_ = watched({own.id(), own.row().zone}, others);
    }
}

Instant Peers::look_due(const SessionId& own, const EngineConfig& config) const {
    if (!looked_once_) {
        return last_look_ == Instant{} ? Instant{} : last_look_ + config.look_every;
    }
    // A session that dies young is watched from its first look on, so new ones are looked for as often as unowned rows,
    // even when no known session is due.
    Instant due = last_look_ + std::min(config.unowned_every, config.lease / looks_per_lease);
    if (!watched_.empty()) {
        due = list_at_;
    }
    for (const auto& [id, peer] : peers_) {
        if (id == own || is_final(peer.row.state)) {
            continue;
        }
        if (watched_.empty()) {
            due = std::min(due, peer.seen_at + peer.row.heartbeat_every);
            continue;
        }
        // Nobody is fenced on an old answer: all are read once more when it is due, and before that when a watched one
        // is overdue, so that it is known who else stands still.
        if (const Instant fence = fence_due(peer, config); !peer.fencing && !shown_since(fence)) {
            due = std::min(due, fence);
        }
        if (const Instant overdue = overdue_at(peer.seen_at, peer.row.heartbeat_every);
            watched_.contains(id) && !shown_since(overdue)) {
            due = std::min(due, overdue);
        }
    }
    return std::max(due, last_look_ + config.look_every);
}

Instant Peers::watch_due(const EngineConfig& config) const {
    if (watched_.empty() || !looked_once_) {
        return Instant::max();
    }
    Instant due = last_look_ + config.lease / looks_per_lease;
    for (const auto& id : watched_) {
        if (const auto entry = peers_.find(id); entry != peers_.end()) {
            due = std::min(due, entry->second.seen_at + entry->second.row.heartbeat_every);
        }
    }
    return std::max(due, last_look_ + config.look_every);
}

bool Peers::shown_since(Instant instant) const {
    return watched_.empty() || listed_at_ >= instant;
}

void Peers::on_sessions(const SessionsRead& read, const SessionId& own, Turn& turn) {
    saw(turn);
    looking_ = false;
    looked_once_ = true;
    list_failed_ = false;
    listed_at_ = turn.now;
    list_at_ = turn.now + scale(turn.config.lease, 1 - turn.config.jitter * turn.random.unit());
    std::set<SessionId> present;
    for (const auto& row : read.rows) {
        present.insert(row.id);
        if (row.id != own) {
            take_in(row, turn);
        }
    }
    // A row that is gone was final and removed. One's own old sessions are peers like all others.
    const auto gone = std::erase_if(peers_, [&](const auto& entry) {
        return !present.contains(entry.first) && !entry.second.fencing && !entry.second.removing;
    });
    members_changed_ = members_changed_ || gone > 0;
}

void Peers::on_watched(const GetSessions& asked, const SessionsRead& read, Turn& turn) {
    saw(turn);
    looking_ = false;
    std::set<SessionId> gone{asked.ids.begin(), asked.ids.end()};
    for (const auto& row : read.rows) {
        gone.erase(row.id);
        take_in(row, turn);
    }
    for (const auto& id : gone) {
        if (const auto entry = peers_.find(id);
            entry != peers_.end() && !entry->second.fencing && !entry->second.removing) {
            forget(id);
        }
    }
}

void Peers::on_look_failed(bool of_all, Turn& /*turn*/) {
    looking_ = false;
    list_failed_ = list_failed_ || of_all;
}

void Peers::take_in(const SessionRow& row, Turn& turn) {
    absent_.erase(row.id);
    const auto [entry, fresh] = peers_.try_emplace(row.id, Peer{.row = row, .seen_at = turn.now, .read_at = turn.now});
    Peer& peer = entry->second;
    members_changed_ = members_changed_ || fresh;
    if (fresh || is_final(peer.row.state)) {
        return;  // a final state never changes, whatever an older answer says
    }
    if (is_final(row.state)) {
        peer.row = row;
        peer.search_at = turn.now;
        members_changed_ = true;
        return;
    }
    peer.read_at = turn.now;
    if (row.counter > peer.row.counter) {
        peer.seen_at = turn.now;
        peer.row = row;
    }
}

void Peers::forget(const SessionId& session) {
    peers_.erase(session);
    members_changed_ = true;
}

Instant Peers::fence_due(const Peer& peer, const EngineConfig& config) {
    return std::max(peer.seen_at + config.suspect_after(peer.row.lease), peer.fence_at);
}

bool Peers::looks_dead(const Peer& peer, const EngineConfig& config) {
    // Those that died together beat up to a heartbeat apart, and a look may come a little later.
    const Duration whole = config.suspect_after(peer.row.lease);
    const Duration still = std::max(whole - peer.row.heartbeat_every * 5 / 4, whole / 2);
    return peer.read_at - peer.seen_at >= still;
}

bool Peers::fence_is_due(const Peer& peer, Instant now, const EngineConfig& config) const {
    const Instant due = fence_due(peer, config);
    return !peer.fencing && now >= due && shown_since(due) && looks_dead(peer, config) &&
           now - saw_at_ < config.outage();
}

void Peers::fence_dead(OwnSession& own, Turn& turn) {
    std::size_t sessions = own.member() ? 1 : 0;
    std::size_t dead = 0;
    std::vector<Peer*> due;
    for (auto& [id, peer] : peers_) {
        if (id == own.id() || is_final(peer.row.state)) {
            continue;
        }
        ++sessions;
        dead += looks_dead(peer, turn.config) ? 1 : 0;
        if (fence_is_due(peer, turn.now, turn.config)) {
            due.push_back(&peer);
        }
    }
    if (dead == 0) {
        guard_.end();
    }
    if (due.empty()) {
        return;
    }
    if (guard_.begins(dead, sessions, turn.now, turn.config.lease)) {
        turn.note(News::mass_expiry);
    }
    // Each observer begins behind itself, so that they do not all fence the same one.
    const auto first = std::ranges::find_if(due, [&](const Peer* peer) { return peer->row.id > own.id(); });
    std::ranges::rotate(due, first);
    for (Peer* peer : due) {
        if (turn.now < guard_.fence_at()) {
            return;
        }
        guard_.fenced(turn.now, turn.config.mass_fence_every);
        peer->fencing = true;
        turn.call(Fence{.session = peer->row.id,
                        .counter_expected = peer->row.counter,
                        .attempt = own.next_token(),
                        .create_if_absent = false});
    }
}

void Peers::saw(Turn& turn) {
    if (turn.now - saw_at_ >= turn.config.outage()) {
        for (auto& [id, peer] : peers_) {
            peer.seen_at = turn.now;
            peer.read_at = turn.now;
        }
    }
    saw_at_ = turn.now;
}

void Peers::look_now() {
    looked_once_ = false;
    last_look_ = Instant{};
}

}  // namespace longhold::core
