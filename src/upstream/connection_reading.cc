// SPDX-License-Identifier: Apache-2.0
// Reading: from the socket's readiness through the decoder to the receiver.
#include <utility>

#include "connection_state.h"

namespace longhold::upstream {
namespace {

// Reads of one turn, so that a busy connection leaves the loop to others.
constexpr int reads_per_turn = 4;

}  // namespace

void ConnectionState::on_readable() {
    read_armed_ = false;
    if (phase_ == Phase::dialling) {
        waker_.wake();
    } else if (!ended() && !paused_) {
        read_turn();
    }
}

void ConnectionState::read_turn() {
    {
        const SharedReadBuffer::Use buffer{shared_.read_buffer};
        for (int i = 0; i < reads_per_turn && !ended() && !paused_; ++i) {
            if (!read_once(buffer.bytes())) {
                break;
            }
        }
    }
    end_burst();
    arm_read();
}

// False when there is nothing more to read now.
bool ConnectionState::read_once(std::span<char> buffer) {
    const IoResult result = transport_->read_now(buffer);
    if (result.status == IoStatus::done) {
        received(result.bytes);
        feed({buffer.data(), result.bytes});
        return result.bytes == buffer.size();
    }
    if (result.status != IoStatus::would_block || write_broken_) {
        stream_ended(result.status);
    }
    return false;
}

void ConnectionState::feed(std::string_view bytes) {
    const std::size_t used = decoder_.feed(bytes, *this);
    if (used < bytes.size() && !ended()) {
        held_.assign(bytes.substr(used));
        held_at_ = 0;
    }
}

// Gives out what was held when the receiver stopped, until it stops again.
void ConnectionState::feed_held() {
    held_at_ += decoder_.feed(std::string_view{held_}.substr(held_at_), *this);
    if (held_at_ == held_.size() || ended()) {
        std::string{}.swap(held_);
        held_at_ = 0;
    }
}

void ConnectionState::end_burst() {
    if (std::exchange(burst_open_, false) && !ended()) {
        receiver_->on_burst_end();
    }
}

void ConnectionState::arm_read() {
    if (!ended() && !paused_ && !std::exchange(read_armed_, true)) {
        transport_->await_readable();
    }
}

void ConnectionState::received(std::size_t bytes) {
    traffic_.bytes_received += bytes;
    traffic_.received_at = waker_.now();
    if (std::exchange(ping_outstanding_, false)) {
        arm_timer();  // the next ping is due before the verdict would have been
    }
}

void ConnectionState::resume_reading() {
    if (!paused_ || resuming_ || ended()) {
        return;
    }
    resuming_ = true;
    shared_.loop.post([weak = weak_from_this()] {
        const auto state = weak.lock();
        if (state == nullptr || state->ended()) {
            return;
        }
        state->resuming_ = false;
        state->paused_ = false;
        // Time in which nothing was read says nothing about the peer.
        state->traffic_.received_at = state->waker_.now();
        state->ping_outstanding_ = false;
        state->feed_held();
        if (!state->ended() && !state->paused_) {
            state->read_turn();
        } else {
            state->end_burst();
        }
        state->arm_timer();  // the deadline has changed
    });
}

bool ConnectionState::on_message(std::string_view data, bool binary) {
    if (ended()) {
        return false;
    }
    ++traffic_.messages_received;
    burst_open_ = true;
    if (!receiver_->on_message({data, binary}) && !ended()) {
        paused_ = true;
        paused_since_ = waker_.now();
        arm_timer();
    }
    return !paused_ && !ended();
}

void ConnectionState::on_ping(std::string_view payload) {
    if (ended() || close_sent_) {
        return;
    }
    pong_ = payload;  // RFC 6455 lets one answer stand for all pings before it
    pong_due_ = true;
    flush();
}

void ConnectionState::on_pong(std::string_view) {}

void ConnectionState::on_close(std::uint16_t code, std::string_view reason) {
    if (ended()) {
        return;
    }
    close_received_ = true;
    ended_ = std::make_unique<Ended>();
    ended_->reason = close_sent_ || close_due_ ? EndReason::closed_by_us : EndReason::closed_by_peer;
    ended_->close_code = code;
    ended_->close_reason = reason;
    ended_->detail = code == close_code_absent ? "the server closed without a code"
                                               : "the server closed with " + std::to_string(code);
    if (!reason.empty()) {
        ended_->detail += ": " + std::string{reason};
    }
    data_.clear();  // the peer takes nothing more
    data_bytes_ = 0;
    if (!close_sent_) {
        close_due_ = true;
        close_code_ = code;
        close_reason_.clear();
    }
    if (phase_ == Phase::open) {
        phase_ = Phase::closing;
        close_within_ = limits_.close_timeout;
        close_deadline_ = waker_.now() + close_within_;
        arm_timer();
    }
    flush();
}

void ConnectionState::on_fault(DecodeFault fault, std::string_view detail) {
    if (ended()) {
        return;
    }
    const std::uint16_t code = close_code_for(fault);
    end_burst();
    if (ended()) {
        return;
    }
    if (!close_sent_) {
        close_code_ = code;
        close_reason_.clear();
        close_due_ = true;
        data_.clear();
        data_bytes_ = 0;
        flush();
    }
    if (ended()) {
        return;
    }
    transport_->end_writing();
    end(code == 1009 ? EndReason::message_too_big : EndReason::protocol_violation, std::string{detail});
    ended_->close_code = code;
}

// No byte will come any more.
void ConnectionState::stream_ended(IoStatus status) {
    if (ended()) {
        return;
    }
    const bool orderly = status == IoStatus::ended;
    const std::string how = orderly ? "the server ended the connection" : transport_->failure();
    end_burst();
    if (ended()) {
        return;
    }
    if (close_received_) {
        end(ended_->reason, std::move(ended_->detail));
    } else if (close_sent_ || close_due_) {
        end(EndReason::closed_by_us, "the close was not answered: " + how);
        ended_->close_code = close_code_;
    } else {
        end(EndReason::transport_lost, how + " without a close frame");
    }
}

}  // namespace longhold::upstream
