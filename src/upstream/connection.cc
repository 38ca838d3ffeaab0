// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/upstream/connection.h>

#include <utility>

#include "connection_state.h"

namespace longhold::upstream {

std::string_view name_of(EndReason reason) {
    switch (reason) {
        case EndReason::closed_by_peer:
            return "closed_by_peer";
        case EndReason::closed_by_us:
            return "closed_by_us";
        case EndReason::aborted:
            return "aborted";
        case EndReason::transport_lost:
            return "transport_lost";
        case EndReason::liveness_timeout:
            return "liveness_timeout";
        case EndReason::protocol_violation:
            return "protocol_violation";
        case EndReason::message_too_big:
            return "message_too_big";
        case EndReason::handshake_refused:
            return "handshake_refused";
        case EndReason::resolve_failed:
            return "resolve_failed";
        case EndReason::connect_failed:
            return "connect_failed";
        case EndReason::tls_failed:
            return "tls_failed";
        case EndReason::attempt_timed_out:
            return "attempt_timed_out";
        case EndReason::backpressure:
            return "backpressure";
    }
    return "unknown";
}

void Receiver::on_ended(Ended /*ended*/) {}

ConnectionState::ConnectionState(const LoopShared& shared, ConnectionOptions options)
    : shared_(shared),
      options_(std::make_unique<const ConnectionOptions>(std::move(options))),
      limits_{.send_queue_bytes_max = options_->send_queue_bytes_max,
              .ping_every = options_->ping_every,
              .pong_timeout = options_->pong_timeout,
              .close_timeout = options_->close_timeout},
      waker_(shared.loop),
      decoder_(FrameLimits{options_->frame_bytes_max, options_->message_bytes_max}) {}

// Closes the socket however its scope is left: by a cancellation with a reset, so that nothing of a cancelled
// connection goes on.
struct ConnectionState::CloseAtExit {
    explicit CloseAtExit(ConnectionState& connection) : state(connection) {}

    ~CloseAtExit() {
        if (dismissed) {
            return;
        }
        if (!state.ended() && state.transport_ != nullptr) {
            state.transport_->reset();
        }
        state.phase_ = Phase::ended;
        state.transport_.reset();
        state.receiver_ = nullptr;
    }

    void dismiss() { dismissed = true; }

    CloseAtExit(const CloseAtExit&) = delete;
    CloseAtExit& operator=(const CloseAtExit&) = delete;

    ConnectionState& state;
    bool dismissed = false;
};

runtime::Task<std::optional<Ended>> ConnectionState::open(Receiver& receiver) {
    invariant(!std::exchange(started_, true), "a connection is dialled once");
    receiver_ = &receiver;
    opening_ = true;
    CloseAtExit close_at_exit{*this};
    if (!ended()) {
        co_await open_up();
    }
    opening_ = false;
    options_.reset();
    if (ended()) {
        co_return std::move(*ended_);
    }
    close_at_exit.dismiss();
    arm_timer();
    co_return std::nullopt;
}

runtime::Task<Ended> ConnectionState::run(Receiver& receiver) {
    if (auto failed = co_await open(receiver)) {
        co_return std::move(*failed);
    }
    const CloseAtExit close_at_exit{*this};
    end_told_ = std::make_unique<runtime::Event>(shared_.loop);
    while (running()) {
        co_await end_told_->wait();
    }
    co_return std::move(*ended_);
}

void ConnectionState::close(std::uint16_t code, std::string reason, std::optional<Duration> within) {
    invariant(close_code_valid(code), "only close codes that the protocol allows are sent");
    if (phase_ == Phase::dialling) {
        end(EndReason::closed_by_us, "closed before it was open");
    } else if (phase_ == Phase::open) {
        phase_ = Phase::closing;
        close_code_ = code;
        close_reason_ = std::move(reason);
        close_due_ = true;
        close_within_ = std::min(limits_.close_timeout, within.value_or(limits_.close_timeout));
        close_deadline_ = waker_.now() + close_within_;
        arm_timer();
        flush();
    } else if (phase_ == Phase::closing && within && waker_.now() + *within < close_deadline_) {
        close_within_ = *within;
        close_deadline_ = waker_.now() + close_within_;
        arm_timer();
    }
}

void ConnectionState::abort() {
    reset_and_end(EndReason::aborted, "aborted by its owner");
}

Instant ConnectionState::next_deadline() const {
    if (phase_ == Phase::closing) {
        return close_deadline_;
    }
    if (paused_) {
        return paused_since_ + pause_max();
    }
    if (limits_.ping_every == Duration::zero()) {
        return Instant::max();
    }
    return ping_outstanding_ ? ping_sent_at_ + limits_.pong_timeout : traffic_.received_at + limits_.ping_every;
}

// Has on_time() called at the next deadline, or before. Deadlines mostly move on, so the timer goes off early and is
// set anew then; only one that has come nearer needs a new timer at once.
void ConnectionState::arm_timer() {
    const Instant deadline = next_deadline();
    if (opening_ || ended() || deadline >= armed_for_) {
        return;
    }
    armed_for_ = deadline;
    waker_.call_at(deadline, [weak = weak_from_this()] {
        if (const auto state = weak.lock()) {
            state->armed_for_ = Instant::max();
            state->on_time();
            state->arm_timer();
        }
    });
}

void ConnectionState::on_time() {
    const Instant now = waker_.now();
    if (ended() || now < next_deadline()) {
        return;
    }
    if (phase_ == Phase::closing) {
        const std::string after = format_duration(close_within_);
        if (close_received_) {
            end(ended_->reason, std::move(ended_->detail));
        } else {
            reset_and_end(EndReason::closed_by_us, "the close was not answered within " + after);
            ended_->close_code = close_code_;
        }
    } else if (paused_) {
        reset_and_end(EndReason::backpressure,
                      "the receiver took nothing for " + format_duration(pause_max()) + " (ping_every + pong_timeout)");
    } else {
        check_life(now);
    }
}

void ConnectionState::check_life(Instant now) {
    if (!ping_outstanding_) {
        ping_outstanding_ = true;
        ping_due_ = true;
        ping_sent_at_ = now;
        flush();
        return;
    }
    read_turn();  // when the loop was late, the sign of life may lie in the kernel
    if (!ended() && ping_outstanding_) {
        reset_and_end(EndReason::liveness_timeout,
                      "nothing was received for " + format_duration(limits_.pong_timeout) + " after a ping");
    }
}

// The first end counts. open() sees it while it runs; afterwards the receiver is told from the loop, since whoever ends
// the connection may be in the midst of its socket.
void ConnectionState::end(EndReason reason, std::string detail) {
    if (ended()) {
        return;
    }
    const bool opened = phase_ != Phase::dialling;
    phase_ = Phase::ended;
    given_up_ = true;
    if (ended_ == nullptr) {
        ended_ = std::make_unique<Ended>();
    }
    ended_->reason = reason;
    ended_->detail = std::move(detail);
    ended_->opened = opened;
    if (opening_ || receiver_ == nullptr) {
        waker_.wake();
        return;
    }
    shared_.loop.post([weak = weak_from_this()] {
        if (const auto state = weak.lock()) {
            state->finish();
        }
    });
}

void ConnectionState::finish() {
    if (!running()) {
        return;
    }
    transport_.reset();
    waker_.wake();  // the timer holds nothing of an ended connection
    Receiver& receiver = *std::exchange(receiver_, nullptr);
    if (end_told_ != nullptr) {
        end_told_->notify();
    } else {
        receiver.on_ended(std::move(*ended_));
    }
}

void ConnectionState::reset_and_end(EndReason reason, std::string detail) {
    if (ended()) {
        return;
    }
    end(reason, std::move(detail));
    if (transport_ != nullptr) {
        transport_->reset();
    }
}

Connection::Connection(const LoopShared& shared, ConnectionOptions options)
    : state_(std::make_shared<ConnectionState>(shared, std::move(options))) {}

Connection::~Connection() {
    invariant(!state_->running(), "a connection is destroyed after its end");
}

runtime::Task<std::optional<Ended>> Connection::open(Receiver& receiver) {
    return state_->open(receiver);
}

runtime::Task<Ended> Connection::run(Receiver& receiver) {
    return state_->run(receiver);
}

bool Connection::send_text(std::string_view text) {
    return state_->send(false, text);
}

bool Connection::send_binary(std::string_view bytes) {
    return state_->send(true, bytes);
}

void Connection::close(std::uint16_t code, std::string reason, std::optional<Duration> within) {
    state_->close(code, std::move(reason), within);
}

void Connection::abort() {
    state_->abort();
}

void Connection::resume_reading() {
    state_->resume_reading();
}

bool Connection::is_open() const {
    return state_->is_open();
}

const std::string& Connection::subprotocol() const {
    return state_->subprotocol();
}

const Traffic& Connection::traffic() const {
    return state_->traffic();
}

}  // namespace longhold::upstream
