// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/hash.h>
#include <longhold/core/observation.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace longhold::core {
namespace {

struct Seat {
    const Watchable* session = nullptr;
    std::uint64_t hash = 0;
    // Where in its zone: the middle of its share of the ring is (2 * rank + 1) / (2 * size).
    std::uint64_t rank = 0;
    std::uint64_t size = 0;
};

bool by_hash(const Seat& a, const Seat& b) {
    return std::tie(a.session->zone, a.hash, a.session->id) < std::tie(b.session->zone, b.hash, b.session->id);
}

bool on_ring(const Seat& a, const Seat& b) {
    const std::uint64_t left = (2 * a.rank + 1) * b.size;
    const std::uint64_t right = (2 * b.rank + 1) * a.size;
    return left != right ? left < right : a.session->zone < b.session->zone;
}

}  // namespace

std::set<SessionId> watched(const Watchable& own, std::span<const Watchable> sessions) {
    std::vector<Seat> seats;
    std::map<std::string_view, std::uint64_t> sizes;
    const auto add = [&](const Watchable& session) {
        seats.push_back(Seat{.session = &session, .hash = stable_hash(session.id.text())});
        ++sizes[session.zone];
    };
    add(own);
    std::ranges::for_each(sessions, add);

    std::ranges::sort(seats, by_hash);
    for (std::size_t i = 0; i < seats.size(); ++i) {
        const bool first = i == 0 || seats[i - 1].session->zone != seats[i].session->zone;
        seats[i].rank = first ? 0 : seats[i - 1].rank + 1;
        seats[i].size = sizes[seats[i].session->zone];
    }
    std::ranges::sort(seats, on_ring);

    const auto mine = std::ranges::find(seats, &own, &Seat::session) - seats.begin();
    std::set<SessionId> next;
    for (std::size_t i = 1; i <= watched_next && i < seats.size(); ++i) {
        next.insert(seats[(static_cast<std::size_t>(mine) + i) % seats.size()].session->id);
    }
    return next;
}

}  // namespace longhold::core
