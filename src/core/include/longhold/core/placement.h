// SPDX-License-Identifier: Apache-2.0
// Placement: which session should own a connection, found by each worker alone from the same rows
// (DESIGN section 4, rule 10).
//
// Rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
// 1998) in its weighted form: each session scores -capacity / ln(u), where u in (0, 1) is a hash of
// the connection's id and the WORKER's id, and the best score has the first right. The worker's id,
// not the session's: a worker that joins anew gets back what it had. When a worker leaves, only its
// connections move; when one joins, only its share does.
//
// Loads are bounded as in "Consistent hashing with bounded loads" (Mirrokni, Thorup, Zadimoghaddam,
// 2016): sessions at or above 1.25 times their share of all connections, those waiting for an owner
// counted, come after the ones below. Among both, the newest (version, generation) comes first, so that
// during a rollout no connection moves to what is about to be replaced.
//
// Workers may see different loads; the answer then differs for a moment, and the claim's CAS decides.
// A placement is made for one look at the rows, and thrown away. Thread-safety: none.
#pragma once

#include <longhold/base/ids.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

// An ACTIVE session that may own connections.
struct Candidate {
    SessionId id;
    WorkerId worker_id;
    std::uint32_t capacity = 0;
    std::uint32_t load = 0;  // connections held, and claims on their way
    std::uint64_t generation = 0;
    std::string version;
};

// Compares dotted numbers: "1.10" is above "1.9", "1.2" equals "1.2.0", "1.2.0-rc1" is below "1.2.0". A
// leading "v" and whatever follows "+" do not count. Parts that are no numbers compare as text, above
// numbers.
[[nodiscard]] std::strong_ordering compare_versions(std::string_view a, std::string_view b);

class Placement {
public:
    // `waiting`: connections without an owner that the candidates will share. `candidates` may come in
    // any order, and must outlive this.
    Placement(std::span<const Candidate> candidates, std::uint64_t waiting);

    // How many sessions have a better right to `connection` than `me`: 0 is the first right. Nothing
    // when `me` is at its capacity or no candidate. Sessions at their capacity stand in nobody's way.
    [[nodiscard]] std::optional<std::uint32_t> rank(const ConnectionId& connection, const SessionId& me) const;

    // The candidate with the first right; nothing when all are full.
    [[nodiscard]] std::optional<std::size_t> best(const ConnectionId& connection) const;

    // Counts a claim by this candidate against its capacity and bound. Requires an index of `candidates`.
    void claimed(std::size_t candidate);

    // The index of a session in `candidates`.
    [[nodiscard]] std::optional<std::size_t> index_of(const SessionId& session) const;

private:
    struct Seat {
        std::uint64_t worker_hash = 0;
        double cost_per_draw = 0;  // 1 / capacity
        std::uint32_t capacity = 0;
        std::uint32_t load = 0;
        std::uint32_t bound = 0;
        std::uint32_t age = 0;  // 0: the newest version and generation
        std::uint32_t group = 0;
        bool full = false;
    };

    void sort_by_age();
    void regroup(Seat& seat) const;
    [[nodiscard]] bool before(std::size_t a, double cost_a, std::size_t b, double cost_b) const;

    std::span<const Candidate> candidates_;
    std::vector<Seat> seats_;  // as candidates_
    std::uint32_t ages_ = 1;
};

// The two sessions that poll a bucket of unowned rows: by rendezvous as well, those with room first.
// Fewer where there are fewer candidates.
struct BucketPollers {
    std::array<SessionId, 2> sessions;
    std::size_t count = 0;

    [[nodiscard]] bool has(const SessionId& session) const {
        return (count > 0 && sessions[0] == session) || (count > 1 && sessions[1] == session);
    }
};

[[nodiscard]] BucketPollers bucket_pollers(std::uint32_t bucket, std::span<const Candidate> candidates);

}  // namespace longhold::core
