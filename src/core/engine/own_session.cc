// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/core/own_session.h>

#include <utility>

namespace longhold::core {

AttemptToken OwnSession::next_token() {
    return AttemptToken{row_.id.text() + "/" + std::to_string(++token_number_)};
}

void OwnSession::start(SessionId fresh, Turn& turn) {
    invariant(status_ == Status::none, "a session starts when there is none");
    invariant(!fresh.empty(), "a session id is not empty");
    const auto& config = turn.config;
    row_ = SessionRow{.id = std::move(fresh),
                      .worker_id = config.worker,
                      .lease = config.lease,
                      .heartbeat_every = config.heartbeat_every,
                      .state = SessionState::active,
                      .capacity = config.capacity,
                      .generation = config.generation,
                      .version = config.version,
                      .zone = config.zone,
                      .address = config.address};
    sent_.clear();
    waiting_ = false;
    if (draining_ || !rejoin_) {
        ended(false, turn);
        return;
    }
    status_ = Status::joining;
    joining_since_ = turn.now;
    send_join(turn);
}

void OwnSession::send_join(Turn& turn) {
    row_.attempt = next_token();
    sent_.emplace(row_.attempt, turn.now);
    waiting_ = true;
    turn.call(Join{row_});
}

void OwnSession::begin_drain(Turn& turn) {
    draining_ = true;
    next_at_ = turn.now;
}

void OwnSession::leave(Turn& turn) {
    switch (status_) {
        case Status::member:
            status_ = Status::leaving;
            waiting_ = false;
            send_leave(turn);
            return;
        case Status::fencing:
            rejoin_ = false;
            return;
        case Status::leaving:
        case Status::ended:
            return;
        case Status::joining:
            lose(LossReason::expired, false, turn);
            return;
        case Status::none:
            ended(false, turn);
            return;
    }
}

void OwnSession::send_leave(Turn& turn) {
    waiting_ = true;
    turn.call(Leave{row_.id, next_token()});
}

void OwnSession::lose(LossReason reason, bool rejoin, Turn& turn) {
    if (status_ == Status::fencing || status_ == Status::ended || status_ == Status::none) {
        rejoin_ = rejoin_ && rejoin;
        return;
    }
    turn.emit(DropSession{row_.id, reason});
    status_ = Status::fencing;
    rejoin_ = rejoin && !draining_;
    send_fence(turn);
}

void OwnSession::send_fence(Turn& turn) {
    waiting_ = true;
    turn.call(
        Fence{.session = row_.id, .counter_expected = std::nullopt, .attempt = next_token(), .create_if_absent = true});
}

void OwnSession::tick(std::uint32_t load, Turn& turn) {
    load_ = load;
    if (status_ == Status::member && turn.now >= deadline_) {
        lose(LossReason::expired, true, turn);
        return;
    }
    if (waiting_ || turn.now < next_at_) {
        return;
    }
    switch (status_) {
        case Status::joining:
            // A Join that has happened without our knowing may have been fenced meanwhile, and its row removed two
            // leases later: one more Join would make the row of a final session again, for peers that still know it
            // as dead. A fresh id is nobody's.
            if (turn.now >= joining_since_ + turn.config.right_duration()) {
                lose(LossReason::expired, true, turn);
            } else {
                send_join(turn);
            }
            return;
        case Status::member:
            send_beat(load, turn);
            return;
        case Status::fencing:
            send_fence(turn);
            return;
        case Status::leaving:
            send_leave(turn);
            return;
        case Status::none:
        case Status::ended:
            return;
    }
}

void OwnSession::send_beat(std::uint32_t load, Turn& turn) {
    const AttemptToken token = next_token();
    sent_.emplace(token, turn.now);
    waiting_ = true;
    next_at_ = turn.now + turn.config.heartbeat_every;
    turn.call(Beat{.session = row_.id,
                   .counter_expected = row_.counter,
                   .attempt = token,
                   .state = draining_ ? SessionState::draining : SessionState::active,
                   .load = load});
}

Instant OwnSession::wake_at() const {
    if (status_ == Status::none || status_ == Status::ended) {
        return Instant::max();
    }
    const Instant due = waiting_ ? Instant::max() : next_at_;
    return status_ == Status::member ? std::min(due, deadline_) : due;
}

void OwnSession::on_outcome(const Request& request, const Outcome<SessionRow>& outcome, Turn& turn) {
    waiting_ = false;
    if (outcome.verdict == Verdict::unknown) {
        turn.note(News::unknown_outcome, row_.id);
        read_back(turn);
        return;
    }
    if (outcome.row) {
        take_in(*outcome.row, turn);
        return;
    }
    // Refused, and there is no row: a heartbeat or a Leave of a session that was removed. A Fence creates the row, so
    // it cannot be here.
    if (std::holds_alternative<Beat>(request)) {
        lose(LossReason::fenced, true, turn);
    } else if (std::holds_alternative<Leave>(request)) {
        ended(false, turn);
    } else {
        next_at_ = turn.now + retry_after;
    }
}

void OwnSession::read_back(Turn& turn) {
    waiting_ = true;
    turn.call(GetSession{row_.id});
}

void OwnSession::on_read_back(const SessionRead& read, Turn& turn) {
    waiting_ = false;
    if (read.row) {
        take_in(*read.row, turn);
        return;
    }
    if (status_ == Status::member) {
        lose(LossReason::fenced, true, turn);
    } else if (status_ == Status::leaving) {
        ended(false, turn);
    } else {
        next_at_ =
            turn.now + retry_after / 2;  // a Join or Fence that has not happened, and may happen late: send it again
    }
}

void OwnSession::on_read_back_failed(Turn& turn) {
    waiting_ = false;
    next_at_ = turn.now + retry_after;
}

void OwnSession::take_in(const SessionRow& current, Turn& turn) {
    if (is_final(current.state)) {
        if (status_ == Status::fencing) {
            if (rejoin_) {
                status_ = Status::none;
                turn.emit(WantSession{});
            } else {
                ended(false, turn);
            }
        } else if (status_ == Status::leaving) {
            ended(current.state == SessionState::left, turn);
        } else if (status_ == Status::joining || status_ == Status::member) {
            lose(LossReason::fenced, true, turn);
        }
        return;
    }
    if (status_ == Status::fencing || status_ == Status::leaving) {
        next_at_ =
            turn.now + retry_after;  // the give-away has not happened, and may happen late: never act, send it again
        return;
    }
    const auto credited = sent_.find(current.attempt);
    if (credited == sent_.end()) {
        // Somebody else beats under our id (a restored snapshot, a clone): neither of us can know who may act.
        lose(LossReason::stolen, true, turn);
        return;
    }
    const bool joined = status_ == Status::joining;
    if (!joined && current.counter == row_.counter && credited->first == row_.attempt) {
        next_at_ =
            turn.now + retry_after / 2;  // read back: the heartbeat has not happened, and may happen late: send another
        return;
    }
    row_.counter = current.counter;
    row_.attempt = current.attempt;
    row_.load = current.load;
    row_.drain_requested = current.drain_requested;
    row_.state = current.state;
    status_ = Status::member;
    const Instant sent_at = credited->second;
    // Older attempts can never be in the row again: their CAS names a counter that has passed. Later ones may.
    std::erase_if(sent_, [sent_at](const auto& attempt) { return attempt.second < sent_at; });
    credit(sent_at, turn);
    if (!member()) {
        return;
    }
    if (joined) {
        next_at_ = sent_at + turn.config.heartbeat_every;
        turn.note(News::joined, row_.id);
    }
    if (current.drain_requested && !drain_told_) {
        drain_told_ = true;
        turn.emit(DrainAsked{});
    }
    if (draining_ && current.state == SessionState::active) {
        next_at_ = turn.now;
    }
}

void OwnSession::credit(Instant sent_at, Turn& turn) {
    deadline_ = sent_at + turn.config.right_duration();
    if (turn.now >= deadline_) {
        lose(LossReason::expired, true, turn);
        return;
    }
    turn.emit(ExtendRight{row_.id, deadline_});
}

void OwnSession::ended(bool left, Turn& turn) {
    status_ = Status::ended;
    turn.emit(SessionEnded{left});
}

}  // namespace longhold::core
