// SPDX-License-Identifier: Apache-2.0
// Engine: the ownership protocol of one worker as one pure state machine: step(event, now) -> commands.
//
// No clock, I/O, thread or lock. The caller keeps time: it calls step() with Tick at wake_at() or later, with every
// answer to a Call exactly once, and with `now` never going back. It carries commands out in order. Production and
// simulation run this same code. A value: copying it copies the whole state.
//
// Before anything else each step checks the session's own deadline, so that after a pause nothing is done under a right
// that has ended. Protocol: docs/protocol/ownership.md. Invariants kept here: I1, I3.
#pragma once

#include <longhold/base/random.h>
#include <longhold/core/engine_types.h>
#include <longhold/core/hints.h>
#include <longhold/core/holdings.h>
#include <longhold/core/orphans.h>
#include <longhold/core/own_session.h>
#include <longhold/core/peers.h>

#include <map>
#include <vector>

namespace longhold::core {

class Engine {
public:
    // `seed`: of jitter only.
    Engine(EngineConfig config, std::uint64_t seed) : config_(std::move(config)), random_(seed) {}

    // Takes one event in; returns what to do, in order.
    [[nodiscard]] std::vector<Command> step(const Event& event, Instant now);

    // When the next Tick is wanted.
    [[nodiscard]] Instant wake_at() const;

    [[nodiscard]] const EngineConfig& config() const { return config_; }

    [[nodiscard]] const OwnSession& session() const { return own_; }

    [[nodiscard]] std::uint32_t held() const { return holdings_.count(); }

    [[nodiscard]] std::size_t releases_pending() const { return holdings_.releases_pending(); }

    // Sessions that this worker sees as able to take work, without itself.
    [[nodiscard]] std::size_t active_peers() const { return peers_.active().size(); }

private:
    void take(const Start& event, Turn& turn);
    void take(const Tick& event, Turn& turn);
    void take(const Answered& event, Turn& turn);
    void take(const Closed& event, Turn& turn);
    void take(const LoopStuck& event, Turn& turn);
    void take(const AllLoopsStuck& event, Turn& turn);
    void take(const BeginDrain& event, Turn& turn);
    void take(const HandOver& event, Turn& turn);
    void take(const EndSession& event, Turn& turn);
    void take(const Hinted& event, Turn& turn);

    // Whether the call was about the session under which it was asked: nothing that it says concerns a later one.
    [[nodiscard]] static bool of_asker(const PendingCall& call);
    void answer_session_verb(const Request& request, const SessionId& session, const Answer& answer, Turn& turn);
    void answer_read(const Request& request, const Answer& answer, Turn& turn);
    void answer_owned(const ListOwned& asked, const RowsRead* read, Turn& turn);
    void answer_connections(const GetConnections& asked, const RowsRead* read, Turn& turn);
    void act_on_hint(ReadPurpose purpose, const RowsRead& read, Turn& turn);
    void run_parts(Turn& turn);
    void tell_drained(Turn& turn);
    // Clears what belonged to the session when it is not one any more.
    void settle(bool was_member);
    [[nodiscard]] std::uint32_t room() const;

    EngineConfig config_;
    Random random_;
    std::map<CallId, PendingCall> pending_;
    CallId last_call_ = 0;
    OwnSession own_;
    Peers peers_;
    Orphans orphans_;
    Holdings holdings_;
    Hints hints_;
    bool draining_told_ = false;  // to the peers
    bool handing_over_ = false;
    bool drained_told_ = false;
    bool session_lost_ = false;  // since the drain began
};

}  // namespace longhold::core
