// SPDX-License-Identifier: Apache-2.0
// OwnSession: this worker's membership: joining, heartbeats, the deadline of its right, leaving.
//
// Rules 1 and 5 of the ownership protocol: each attempt has its own token; the right counts from before the first send
// that carried the token now in the row; an unknown outcome is read back. Keeps I1 on the owner's side.
#pragma once

#include <longhold/core/turn.h>

#include <map>

namespace longhold::core {

class OwnSession {
public:
    enum class Status : std::uint8_t {
        none,     // never joined, or waiting for a fresh id
        joining,  // Join sent, not confirmed
        member,   // may act until deadline()
        fencing,  // past its deadline: the row is being made FENCED, so that what it owned can be claimed
        leaving,  // Leave sent
        ended,    // LEFT, or given up
    };

    [[nodiscard]] Status status() const { return status_; }

    [[nodiscard]] bool member() const { return status_ == Status::member; }

    [[nodiscard]] const SessionId& id() const { return row_.id; }

    [[nodiscard]] const SessionRow& row() const { return row_; }

    // The right ends here. Only while member() or leaving.
    [[nodiscard]] Instant deadline() const { return deadline_; }

    [[nodiscard]] bool draining() const { return draining_; }

    // An attempt token that no other attempt of any session ever had.
    [[nodiscard]] AttemptToken next_token();

    void start(SessionId fresh, Turn& turn);
    void begin_drain(Turn& turn);
    void leave(Turn& turn);
    // Ends the membership: the row is made FENCED if it is not final yet. `rejoin`: ask for a fresh id afterwards.
    void lose(LossReason reason, bool rejoin, Turn& turn);

    // Sends what is due. `load`: connections held.
    void tick(std::uint32_t load, Turn& turn);
    [[nodiscard]] Instant wake_at() const;

    // Answers to Join, Beat, Leave, Fence and GetSession of one's own session.
    void on_outcome(const Request& request, const Outcome<SessionRow>& outcome, Turn& turn);
    void on_read_back(const SessionRead& read, Turn& turn);
    void on_read_back_failed(Turn& turn);

private:
    void send_join(Turn& turn);
    void send_beat(std::uint32_t load, Turn& turn);
    void send_fence(Turn& turn);
    void send_leave(Turn& turn);
    void read_back(Turn& turn);
    // The row as the store has it, whoever wrote it: credits, or finds the session lost.
    void take_in(const SessionRow& current, Turn& turn);
    void credit(Instant sent_at, Turn& turn);
    void ended(bool left, Turn& turn);

    Status status_ = Status::none;
    SessionRow row_;
    bool draining_ = false;
    bool drain_told_ = false;
    bool rejoin_ = true;
    bool waiting_ = false;  // for an answer
    std::map<AttemptToken, Instant>
        sent_;  // tokens of Join and Beat that may be in the row, with the time before their send
    Instant deadline_{};
    Instant joining_since_{};
    Instant next_at_{};  // when the next heartbeat or retry is due
    std::uint64_t token_number_ = 0;
    std::uint32_t load_ = 0;
};

}  // namespace longhold::core
