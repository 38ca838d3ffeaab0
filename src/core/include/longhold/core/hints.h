// SPDX-License-Identifier: Apache-2.0
// Hints: what this session tells its peers, and what it does about what they tell it (rule 12).
#pragma once

#include <longhold/core/orphans.h>
#include <longhold/core/own_session.h>
#include <longhold/core/peers.h>
#include <longhold/core/turn.h>

#include <cstdint>
#include <vector>

namespace longhold::core {

class Hints {
public:
    // Tells, for each connection that was just released, the session that is best placed for it.
    static void tell_released(const std::vector<ConnectionId>& released, const OwnSession& own,
                              const std::vector<Candidate>& candidates, const Peers& peers, Turn& turn);
    // Tells every peer what has become of a session: `fenced` or `draining`.
    static void tell_all(HintKind kind, const SessionId& session, const OwnSession& own, const Peers& peers,
                         Turn& turn);

    // Reads what a hint names.
    void take(const Hint& hint, Peers& peers, Turn& turn);

    // A read of take() was answered.
    void read_ended() { --reads_; }

    // The session is gone: its reads are not waited for.
    void forget() { reads_ = 0; }

private:
    std::uint32_t reads_ = 0;  // on the way
};

}  // namespace longhold::core
