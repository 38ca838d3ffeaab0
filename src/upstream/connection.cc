// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/upstream/connection.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
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

ConnectionState::ConnectionState(const LoopShared& shared, ConnectionOptions options)
    : shared_(shared),
      options_(std::move(options)),
      waker_(shared.loop),
      decoder_(FrameLimits{options_.frame_bytes_max, options_.message_bytes_max}) {}

// Closes the socket however run() is left: by a cancellation with a reset, so that nothing of a cancelled connection
// goes on.
struct ConnectionState::CloseAtExit {
    explicit CloseAtExit(ConnectionState& connection) : state(connection) {}

    ~CloseAtExit() {
        if (!state.ended() && state.transport_ != nullptr) {
            state.transport_->reset();
        }
        state.phase_ = Phase::ended;
        state.transport_.reset();
        state.receiver_ = nullptr;
    }

    CloseAtExit(const CloseAtExit&) = delete;
    CloseAtExit& operator=(const CloseAtExit&) = delete;

    ConnectionState& state;
};

runtime::Task<Ended> ConnectionState::run(Receiver& receiver) {
    invariant(!std::exchange(started_, true), "a connection runs once");
    receiver_ = &receiver;
    const CloseAtExit close_at_exit{*this};
    if (!ended()) {
        co_await open_up();
    }
    while (!ended()) {
        if (waker_.set_timer(next_deadline())) {
            co_await waker_.timer().async_wait(boost::asio::as_tuple(boost::asio::deferred));
        }
        waker_.forget();
        on_time();
    }
    co_return std::move(*ended_);
}

void ConnectionState::close(std::uint16_t code, std::string reason) {
    invariant(close_code_valid(code), "only close codes that the protocol allows are sent");
    if (phase_ == Phase::dialling) {
        end(EndReason::closed_by_us, "closed before it was open");
    } else if (phase_ == Phase::open) {
        phase_ = Phase::closing;
        close_code_ = code;
        close_reason_ = std::move(reason);
        close_due_ = true;
        close_deadline_ = waker_.now() + options_.close_timeout;
        waker_.wake();
        flush();
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
    if (options_.ping_every == Duration::zero()) {
        return Instant::max();
    }
    return ping_outstanding_ ? ping_sent_at_ + options_.pong_timeout : traffic_.received_at + options_.ping_every;
}

void ConnectionState::on_time() {
    const Instant now = waker_.now();
    if (ended() || now < next_deadline()) {
        return;
    }
    if (phase_ == Phase::closing) {
        const std::string after = format_duration(options_.close_timeout);
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
                      "nothing was received for " + format_duration(options_.pong_timeout) + " after a ping");
    }
}

// The first end counts. Whoever sleeps in run() sees it.
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
    waker_.wake();
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
    invariant(!state_->running(), "a connection is destroyed after run() has ended");
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

void Connection::close(std::uint16_t code, std::string reason) {
    state_->close(code, std::move(reason));
}

void Connection::abort() {
    state_->abort();
}

void Connection::resume_reading() {
    state_->resume_reading();
}

bool Connection::open() const {
    return state_->open();
}

const std::string& Connection::subprotocol() const {
    return state_->subprotocol();
}

const Traffic& Connection::traffic() const {
    return state_->traffic();
}

}  // namespace longhold::upstream
