// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/hash.h>
#include <longhold/base/invariant.h>
#include <longhold/core/placement.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace longhold::core {
namespace {

constexpr double bound_over_mean = 1.25;

// Takes the part before the next dot off `rest`.
std::string_view next_part(std::string_view& rest) {
    const auto dot = rest.find('.');
    const auto part = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
    return part;
}

bool is_number(std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

std::strong_ordering compare_parts(std::string_view a, std::string_view b) {
    const bool a_number = is_number(a);
    const bool b_number = is_number(b);
    if (!a_number || !b_number) {
        return a_number == b_number ? a <=> b : b_number <=> a_number;
    }
    a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
    b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
    return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

// Missing parts count as empty ones, and so as 0.
std::strong_ordering compare_dotted(std::string_view a, std::string_view b) {
    while (!a.empty() || !b.empty()) {
        const auto order = compare_parts(next_part(a), next_part(b));
        if (order != std::strong_ordering::equal) {
            return order;
        }
    }
    return std::strong_ordering::equal;
}

struct Version {
    std::string_view release;
    std::optional<std::string_view> before_release;
};

Version parts_of(std::string_view text) {
    if (text.starts_with('v')) {
        text.remove_prefix(1);
    }
    text = text.substr(0, text.find('+'));
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) {
        return {.release = text, .before_release = std::nullopt};
    }
    return {.release = text.substr(0, dash), .before_release = text.substr(dash + 1)};
}

// Mixes two hashes into one (the finalizer of stable_hash(), over their sum with an odd constant). As
// stable_hash(): it can never change for an existing fleet.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t hash = a + b * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 33U;
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 33U;
    hash *= 0xc4ceb9fe1a85ec53ULL;
    hash ^= hash >> 33U;
    return hash;
}

// -ln(u) for u in (0, 1): the smaller, the better the draw. Divided by the capacity it is one over the
// weighted score.
double draw(std::uint64_t name_hash, std::uint64_t worker_hash) {
    const double u = (static_cast<double>(mix(name_hash, worker_hash) >> 11U) + 0.5) * 0x1.0p-53;
    return -std::log(u);
}

}  // namespace

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
    const auto left = parts_of(a);
    const auto right = parts_of(b);
    const auto order = compare_dotted(left.release, right.release);
    if (order != std::strong_ordering::equal) {
        return order;
    }
    if (!left.before_release || !right.before_release) {
        return right.before_release.has_value() <=> left.before_release.has_value();
    }
    return compare_dotted(*left.before_release, *right.before_release);
}

Placement::Placement(std::span<const Candidate> candidates, std::uint64_t waiting)
    : candidates_(candidates), seats_(candidates.size()) {
    std::uint64_t capacity = 0;
    std::uint64_t load = waiting;
    for (const auto& candidate : candidates) {
        capacity += candidate.capacity;
        load += candidate.load;
    }
    sort_by_age();
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        Seat& seat = seats_[i];
        const auto& candidate = candidates[i];
        seat.worker_hash = stable_hash(candidate.worker_id.text());
        seat.capacity = candidate.capacity;
        seat.load = candidate.load;
        if (candidate.capacity > 0) {
            const double share = static_cast<double>(candidate.capacity) / static_cast<double>(capacity);
            const double bound = std::ceil(bound_over_mean * share * static_cast<double>(load));
            seat.bound = static_cast<std::uint32_t>(std::clamp(bound, 1.0, static_cast<double>(UINT32_MAX)));
            seat.cost_per_draw = 1.0 / static_cast<double>(candidate.capacity);
        }
        regroup(seat);
    }
}

void Placement::sort_by_age() {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto compare = [this](std::size_t a, std::size_t b) {
        const auto versions = compare_versions(candidates_[a].version, candidates_[b].version);
        return versions != std::strong_ordering::equal ? versions
                                                       : candidates_[a].generation <=> candidates_[b].generation;
    };
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return compare(a, b) > 0; });
    std::uint32_t age = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && compare(order[i - 1], order[i]) > 0) {
            ++age;
        }
        seats_[order[i]].age = age;
    }
    ages_ = age + 1;
}

void Placement::regroup(Seat& seat) const {
    seat.full = seat.load >= seat.capacity;
    seat.group = seat.age + (seat.load >= seat.bound ? ages_ : 0);
}

bool Placement::before(std::size_t a, double cost_a, std::size_t b, double cost_b) const {
    if (seats_[a].group != seats_[b].group) {
        return seats_[a].group < seats_[b].group;
    }
    return cost_a != cost_b ? cost_a < cost_b : candidates_[a].id < candidates_[b].id;
}

std::optional<std::uint32_t> Placement::rank(const ConnectionId& connection, const SessionId& me) const {
    const auto mine = index_of(me);
    if (!mine || seats_[*mine].full) {
        return std::nullopt;
    }
    const auto hash = stable_hash(connection.text());
    const Seat& my_seat = seats_[*mine];
    const double my_cost = draw(hash, my_seat.worker_hash) * my_seat.cost_per_draw;
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        const Seat& seat = seats_[i];
        if (i == *mine || seat.full || seat.group > my_seat.group) {
            continue;
        }
        // The logarithm is spared where the group decides.
        const double cost = seat.group < my_seat.group ? 0 : draw(hash, seat.worker_hash) * seat.cost_per_draw;
        rank += before(i, cost, *mine, my_cost) ? 1 : 0;
    }
    return rank;
}

std::optional<std::size_t> Placement::best(const ConnectionId& connection) const {
    const auto hash = stable_hash(connection.text());
    std::optional<std::size_t> best;
    double best_cost = 0;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        if (seats_[i].full) {
            continue;
        }
        const double cost = draw(hash, seats_[i].worker_hash) * seats_[i].cost_per_draw;
        if (!best || before(i, cost, *best, best_cost)) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

void Placement::claimed(std::size_t candidate) {
    invariant(candidate < seats_.size(), "a claim is by a candidate");
    ++seats_[candidate].load;
    regroup(seats_[candidate]);
}

std::optional<std::size_t> Placement::index_of(const SessionId& session) const {
    const auto at = std::ranges::find(candidates_, session, &Candidate::id);
    if (at == candidates_.end()) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(at - candidates_.begin());
}

BucketPollers bucket_pollers(std::uint32_t bucket, std::span<const Candidate> candidates) {
    struct Right {
        const Candidate* candidate = nullptr;
        bool full = false;
        double draw = 0;
    };

    const auto before = [](const Right& a, const Right& b) {
        if (a.full != b.full) {
            return b.full;
        }
        return a.draw != b.draw ? a.draw < b.draw : a.candidate->id < b.candidate->id;
    };
    const auto hash = stable_hash("bucket " + std::to_string(bucket));
    std::array<Right, 2> best{};
    BucketPollers pollers;
    for (const auto& candidate : candidates) {
        Right right{.candidate = &candidate,
                    .full = candidate.load >= candidate.capacity,
                    .draw = draw(hash, stable_hash(candidate.worker_id.text()))};
        for (auto& place : best) {
            if (place.candidate == nullptr || before(right, place)) {
                std::swap(place, right);
            }
            if (right.candidate == nullptr) {
                break;
            }
        }
    }
    for (const auto& right : best) {
        if (right.candidate != nullptr) {
            pollers.sessions.at(pollers.count++) = right.candidate->id;
        }
    }
    return pollers;
}

}  // namespace longhold::core
