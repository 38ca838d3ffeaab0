// SPDX-License-Identifier: Apache-2.0
// Orphans: connections that are wanted and that no live session owns: finding them, waiting one's turn, claiming them.
//
// Rules 3, 5 and the first half of 10. The index nominates, the row decides: each claim is a CAS on the owner and epoch
// that were read. The best placed session claims at once, others wait for it; after a bound anyone may.
#pragma once

#include <longhold/core/own_session.h>
#include <longhold/core/peers.h>
#include <longhold/core/placement.h>
#include <longhold/core/turn.h>

#include <map>
#include <set>
#include <vector>

namespace longhold::core {

// A connection that a claim has won.
struct Won {
    ConnectionRow row;         // after the claim
    bool held_before = false;  // somebody owned it before
};

class Orphans {
public:
    // What the searches and claims may use. `load`: connections held, with claims on the way.
    void tick(OwnSession& own, const Peers& peers, std::uint32_t load, Turn& turn);
    [[nodiscard]] Instant wake_at(bool claiming_allowed) const;

    // Pages of the unowned index, of what a final session owns, of the sweep.
    void on_unowned(const ListUnowned& asked, const RowsRead* read, const OwnSession& own, const Peers& peers,
                    Turn& turn);
    // Returns how many of the rows still name the session. Rows that are not wanted are freed of its name.
    std::size_t on_owned_by_final(const RowsRead& read, OwnSession& own, const Peers& peers, Turn& turn);
    void on_sweep(const RowsRead* read, OwnSession& own, Peers& peers, Turn& turn);

    // A row that names this session and that it does not hold: claimed anew at once.
    void nominate_own(const ConnectionRow& row, Turn& turn);

    // An unowned row that its former owner says is this session's to claim: at once, if there is room.
    void nominate_first(const ConnectionRow& row, Turn& turn);
    // Unowned rows, each with the first right of its best placed poller.
    void nominate_unowned(const std::vector<ConnectionRow>& rows, const OwnSession& own, const Peers& peers,
                          Turn& turn);

    // All sessions that may be given work, this one among them.
    [[nodiscard]] std::vector<Candidate> candidates(const OwnSession& own, const Peers& peers) const;

    // Rows of GetConnections before a late claim. Nothing when the read failed.
    void on_reread(const GetConnections& asked, const RowsRead* read, Turn& turn);
    // Takes the claims' outcomes; returns the rows that were won. Unknown ones are read back.
    [[nodiscard]] std::vector<Won> on_claims(const Claims& claims, const std::vector<Outcome<ConnectionRow>>& outcomes,
                                             const SessionId& own, Turn& turn);
    // Rows of GetConnections after claims with an unknown outcome.
    [[nodiscard]] std::vector<Won> on_read_back(const GetConnections& asked, const RowsRead* read, const SessionId& own,
                                                Turn& turn);

    [[nodiscard]] bool claiming(const ConnectionId& connection) const { return claiming_.contains(connection); }

    // Claims on the way, and those whose outcome is not known yet.
    [[nodiscard]] std::uint32_t claims_pending() const { return static_cast<std::uint32_t>(claiming_.size()); }

    // The session is gone: nothing that was on its way counts.
    void forget();

private:
    struct Orphan {
        ConnectionRow row;
        std::uint32_t rank = 0;
        Instant eligible_at;
        bool fresh = true;  // read so lately that a claim need not look again
    };

    // `seen_after`: how long better placed sessions may take to see the orphan.
    void nominate(const ConnectionRow& row, const SessionId& me, Placement& placement, Duration seen_after, Turn& turn);
    void poll(const OwnSession& own, const Peers& peers, Turn& turn);
    void claim_due(OwnSession& own, const Peers& peers, std::uint32_t room, Turn& turn);

    std::map<ConnectionId, Orphan> orphans_;

    struct Claiming {
        AttemptToken attempt;
        bool held_before = false;
    };

    std::map<ConnectionId, Claiming> claiming_;
    std::set<ConnectionId> rereading_;
    bool polling_ = false;
    Instant poll_at_{};
    bool sweeping_ = false;
    Instant sweep_at_{};
    bool at_capacity_ = false;
    std::uint32_t load_ = 0;  // of this worker, with claims on the way
};

}  // namespace longhold::core
