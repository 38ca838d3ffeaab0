// SPDX-License-Identifier: Apache-2.0
// Holdings: what this session holds and gives away: opening, following its rows, closing, releasing.
//
// Rules 4, 5 and 6. Absence from the owned index is no proof of loss. After a Release is sent the session never acts on
// that epoch again, whatever a read-back says; one that comes to nothing is kept with its cursor and sent again for as
// long as the session lives, while the others go on.
#pragma once

#include <longhold/core/drain_order.h>
#include <longhold/core/orphans.h>
#include <longhold/core/own_session.h>
#include <longhold/core/turn.h>

#include <deque>
#include <map>
#include <vector>

namespace longhold::core {

class Holdings {
public:
    // Won rows are opened, or given back at once when the session is draining.
    void take(const std::vector<Won>& won, bool draining, Turn& turn);

    // Sends what is due: the poll of owned rows, releases.
    void tick(OwnSession& own, Turn& turn);
    [[nodiscard]] Instant wake_at() const;

    // A row that names this session was read, out of turn.
    void on_row(const ConnectionRow& row, Orphans& orphans, Turn& turn);
    void on_owned(const RowsRead* read, OwnSession& own, Orphans& orphans, bool room, Turn& turn);
    void on_closed(const Closed& closed, Turn& turn);
    void on_loop_stuck(const LoopStuck& stuck, Turn& turn);
    // Returns what was released and is wanted.
    [[nodiscard]] std::vector<ConnectionId> on_releases(const Releases& releases,
                                                        const std::vector<Outcome<ConnectionRow>>& outcomes,
                                                        Turn& turn);
    // Rows of GetConnections after releases with an unknown outcome.
    void on_read_back(const GetConnections& asked, const RowsRead* read, const SessionId& own, Turn& turn);

    // Begins to close everything: the most connections within the budget, some at a time.
    void hand_over(const HandOver& order, Turn& turn);

    // The session is gone, and with it all that it held.
    void forget();

    [[nodiscard]] bool empty() const { return held_.empty() && releasing_.empty(); }

    // Connections whose socket may be open.
    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(held_.size()); }

    [[nodiscard]] std::size_t releases_pending() const { return releasing_.size(); }

private:
    // What of a row is needed to follow it. The rest is the I/O loop's: ten thousand specs need not be kept twice.
    struct Held {
        Epoch epoch;
        std::uint64_t spec_revision = 0;
        std::uint32_t stability = 0;
        bool closing = false;
        Instant closing_since{};
    };

    using HeldById = std::map<ConnectionId, Held>;

    struct Giving {
        Epoch epoch;
        std::optional<Cursor> cursor;
        std::optional<Instant> closing_since{};
        bool sent = false;
        std::uint32_t attempts = 0;  // that came to nothing
    };

    [[nodiscard]] static Held followed(const ConnectionRow& row);
    void close(HeldById::value_type& held, CloseReason reason, Turn& turn, std::optional<Duration> within = {});
    [[nodiscard]] Duration oldest_handover(Instant now);
    void close_next(Turn& turn);
    void drop(HeldById::iterator held);
    void send_releases(OwnSession& own, Turn& turn);
    void give(const ConnectionId& connection, Epoch epoch, std::optional<Cursor> cursor,
              std::optional<Instant> closing_since = {});
    void follow(HeldById::value_type& held, const ConnectionRow& row, Orphans& orphans, Turn& turn);

    HeldById held_;
    std::map<ConnectionId, Giving> releasing_;
    std::deque<ConnectionId> to_send_;       // of releasing_, at once
    std::deque<ConnectionId> send_again_;    // of releasing_, at retry_at_
    std::deque<ConnectionId> to_hand_over_;  // in order
    std::deque<ConnectionId> handing_over_;  // in order; some may be through
    DrainPace pace_;
    std::uint32_t closing_ = 0;        // of held_
    std::uint32_t release_calls_ = 0;  // on the way
    bool polling_ = false;
    Instant poll_at_{};
    Instant retry_at_{};  // one time for all, so that what came to nothing piece by piece is sent in few calls
};

}  // namespace longhold::core
