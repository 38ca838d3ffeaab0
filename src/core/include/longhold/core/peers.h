// SPDX-License-Identifier: Apache-2.0
// Peers: what this worker knows of all other sessions: observing counters, fencing the dead, finding what final ones
// own.
//
// Rules 2 and 3 of the ownership protocol. An observer's clock for a counter starts at the arrival of the first answer
// that showed it; looks are made from the moment a heartbeat is due. Stale reads are safe: the fencing CAS names the
// counter that was seen. With many sessions a worker watches the next three on a ring and looks at all others once per
// lease; a clock once begun is kept.
#pragma once

#include <longhold/core/mass_expiry.h>
#include <longhold/core/observation.h>
#include <longhold/core/own_session.h>
#include <longhold/core/turn.h>

#include <map>
#include <set>
#include <vector>

namespace longhold::core {

class Peers {
public:
    // Sends what is due: looks, fences, searches for what final sessions own. `own`: this worker's session, which
    // names the attempts.
    void tick(OwnSession& own, Turn& turn);
    [[nodiscard]] Instant wake_at(const SessionId& own, const EngineConfig& config) const;

    void on_sessions(const SessionsRead& read, const SessionId& own, Turn& turn);
    // A close look at those that are watched.
    void on_watched(const GetSessions& asked, const SessionsRead& read, Turn& turn);
    // `of_all`: the look was at all sessions.
    void on_look_failed(bool of_all, Turn& turn);
    void on_fence(const Fence& fence, const Outcome<SessionRow>& outcome, const AttemptToken& absent_token, Turn& turn);
    void on_read_back(const SessionId& session, const SessionRead* read, const AttemptToken& absent_token, Turn& turn);
    void on_removed(const SessionId& session, const Outcome<SessionRow>& outcome, Turn& turn);

    // A page of what final `session` owns was read; `found`: rows that still name it. Nothing when the read failed.
    void on_owned(const SessionId& session, std::optional<std::size_t> found, bool more, Turn& turn);
    void on_takeover(const SessionId& session, const TakeoverRead* read, Turn& turn);

    // An owner that no session row is known of: looked up, and fenced by creating its row if it is absent.
    void suspect_absent(const SessionId& session, Turn& turn);

    // Whether `session` is known to be final, so that what it owns may be claimed.
    [[nodiscard]] bool is_final_session(const SessionId& session) const;

    [[nodiscard]] bool known(const SessionId& session) const {
        return peers_.contains(session) || absent_.contains(session);
    }

    // How far a final session's delivery of a connection was durable, when `epoch` is the one it held it with.
    [[nodiscard]] std::optional<Cursor> takeover_cursor(const SessionId& session, const ConnectionId& connection,
                                                        Epoch epoch) const;

    // Sessions that may be given work.
    [[nodiscard]] std::vector<SessionRow> active() const;

    // Whether a session is about to give its connections away.
    [[nodiscard]] bool any_draining() const;

    // Makes the next look at once.
    void look_now();

private:
    struct Peer {
        SessionRow row;
        Instant seen_at;  // arrival of the first answer that showed this counter
        Instant read_at;  // arrival of the last answer that showed it
        bool fencing = false;
        Instant fence_at{};  // not before; after a fence that came to nothing
        // For a final one:
        bool takeover_asked = false;
        bool takeover_known = false;
        std::map<ConnectionId, Cursor> cursors;
        bool searching = false;
        bool found_some = false;  // in the pages of this search so far
        Instant search_at{};
        std::optional<Instant> empty_since;  // the first of two sweeps that found nothing
        bool removing = false;
    };

    // An owner without a session row, until it is found or its row is made.
    struct Absent {
        bool asked = true;    // a read, or the Fence that makes the row, is on its way
        bool fenced = false;  // a Fence has an unknown outcome, and the read looks for it
        Instant ask_at{};     // when it is read again
    };

    [[nodiscard]] static Instant fence_due(const Peer& peer, const EngineConfig& config);
    void take_in(const SessionRow& row, Turn& turn);
    // Whether the counter was seen to stand still for so long that its session is, or is about to be, due to be fenced.
    [[nodiscard]] static bool looks_dead(const Peer& peer, const EngineConfig& config);
    [[nodiscard]] bool fence_is_due(const Peer& peer, Instant now, const EngineConfig& config) const;
    void fence_dead(OwnSession& own, Turn& turn);
    // A look was answered; after an outage all clocks start anew.
    void saw(Turn& turn);
    void tick_final(Peer& peer, Turn& turn);
    void forget(const SessionId& session);
    void look(const OwnSession& own, Turn& turn);
    void choose_watched(const OwnSession& own);
    // When all sessions are read next, and when those that are watched.
    [[nodiscard]] Instant look_due(const SessionId& own, const EngineConfig& config) const;
    [[nodiscard]] Instant watch_due(const EngineConfig& config) const;
    // Whether what is known of every session was shown at `instant` or later, as far as that matters.
    [[nodiscard]] bool shown_since(Instant instant) const;

    std::map<SessionId, Peer> peers_;
    std::map<SessionId, Absent> absent_;
    bool looking_ = false;
    Instant last_look_{};
    bool looked_once_ = false;
    std::set<SessionId> watched_;  // none: everybody watches everybody
    bool members_changed_ = false;
    Instant list_at_{};    // when all are looked at again, while only some are watched
    Instant listed_at_{};  // arrival of the last answer that showed all
    bool list_failed_ = false;
    Instant saw_at_{};  // arrival of the last look's answer
    MassExpiry guard_;
};

}  // namespace longhold::core
