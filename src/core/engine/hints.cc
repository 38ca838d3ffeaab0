// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/hints.h>

#include <algorithm>
#include <map>
#include <utility>

namespace longhold::core {
namespace {

// Reads for hints on the way at a time: whoever sends more is left to the polls.
constexpr std::uint32_t reads_max = 8;

void tell(const SessionRow& peer, Hint hint, Turn& turn) {
    turn.emit(TellPeer{.peer = peer.id, .address = peer.address, .hint = std::move(hint)});
}

}  // namespace

void Hints::tell_released(const std::vector<ConnectionId>& released, const OwnSession& own,
                          const std::vector<Candidate>& candidates, const Peers& peers, Turn& turn) {
    if (released.empty()) {
        return;
    }
    std::vector<Candidate> others;
    std::ranges::copy_if(candidates, std::back_inserter(others), [&](const auto& each) { return each.id != own.id(); });
    Placement placement{others, static_cast<std::uint64_t>(released.size()) * others.size()};
    std::map<SessionId, std::vector<ConnectionId>> for_peer;
    for (const auto& id : released) {
        if (const auto best = placement.best(id)) {
            placement.claimed(*best);
            for_peer[others[*best].id].push_back(id);
        }
    }
    for (const auto& row : peers.active()) {
        const auto ids = for_peer.find(row.id);
        if (ids == for_peer.end() || row.address.empty()) {
            continue;
        }
        for (std::size_t at = 0; at < ids->second.size(); at += hint_connections_max) {
            const auto begin = ids->second.begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(hint_connections_max, ids->second.size() - at);
            tell(row,
                 Hint{.kind = HintKind::released,
                      .session = own.id(),
                      .connections = {begin, begin + static_cast<std::ptrdiff_t>(count)}},
                 turn);
        }
    }
}

void Hints::tell_all(HintKind kind, const SessionId& session, const OwnSession& own, const Peers& peers, Turn& turn) {
    for (const auto& row : peers.active()) {
        if (!row.address.empty() && row.id != own.id() && row.id != session) {
            tell(row, Hint{.kind = kind, .session = session}, turn);
        }
    }
}

void Hints::take(const Hint& hint, Peers& peers, Turn& turn) {
    switch (hint.kind) {
        case HintKind::fenced:
        case HintKind::draining:
            peers.look_now();
            return;
        case HintKind::released:
        case HintKind::changed:
            break;
    }
    if (hint.connections.empty() || reads_ >= reads_max) {
        return;
    }
    ++reads_;
    auto ids = hint.connections;
    ids.resize(std::min(ids.size(), hint_connections_max));
    const bool released = hint.kind == HintKind::released;
    turn.call(GetConnections{.ids = std::move(ids),
                             .purpose = released ? ReadPurpose::hint_released : ReadPurpose::hint_changed});
}

}  // namespace longhold::core
