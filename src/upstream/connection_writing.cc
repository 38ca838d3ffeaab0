// SPDX-License-Identifier: Apache-2.0
// Writing: control frames go between messages, ahead of queued ones.
#include <longhold/upstream/frame_encoder.h>

#include <utility>

#include "connection_state.h"

namespace longhold::upstream {

bool ConnectionState::send(bool binary, std::string_view payload) {
    if (phase_ != Phase::open || write_broken_ || payload.size() > limits_.send_queue_bytes_max ||
        queued_bytes() + payload.size() > limits_.send_queue_bytes_max) {
        return false;
    }
    std::string frame;
    append_frame(frame, binary ? FrameType::binary : FrameType::text, payload, shared_.entropy.next());
    data_bytes_ += frame.size();
    data_.push_back(std::move(frame));
    flush();
    return true;
}

void ConnectionState::on_writable() {
    write_armed_ = false;
    if (phase_ == Phase::dialling) {
        waker_.wake();
    } else if (!ended()) {
        flush();
    }
}

// Writes until nothing is due or the kernel takes no more.
void ConnectionState::flush() {
    while (!ended() && !write_armed_ && !write_broken_) {
        if (writing_at_ == writing_.size() && !next_frame()) {
            std::string{}.swap(writing_);
            writing_at_ = 0;
            return;
        }
        const IoResult result = transport_->write_now(std::string_view{writing_}.substr(writing_at_));
        if (result.status == IoStatus::done) {
            traffic_.bytes_sent += result.bytes;
            writing_at_ += result.bytes;
        } else if (result.status == IoStatus::would_block) {
            write_armed_ = true;
            transport_->await_writable();
        } else {
            break_writing();
        }
    }
}

// Nothing can be sent any more, but what the peer sent before it went may still lie in the kernel: reading it comes
// first, and finds the end.
void ConnectionState::break_writing() {
    write_broken_ = true;
    data_.clear();
    data_bytes_ = 0;
    shared_.loop.post([weak = weak_from_this()] {
        const auto state = weak.lock();
        if (state != nullptr && !state->ended() && !state->paused_) {
            state->read_turn();
        }
    });
}

// Puts the next frame due into writing_; false when there is none.
bool ConnectionState::next_frame() {
    writing_.clear();
    writing_at_ = 0;
    if (std::exchange(pong_due_, false)) {
        append_frame(writing_, FrameType::pong, pong_, shared_.entropy.next());
        std::string{}.swap(pong_);
    } else if (std::exchange(ping_due_, false)) {
        append_frame(writing_, FrameType::ping, {}, shared_.entropy.next());
    } else if (!data_.empty()) {
        writing_ = std::move(data_.front());
        data_.pop_front();
        data_bytes_ -= writing_.size();
    } else if (std::exchange(close_due_, false)) {
        append_close_frame(writing_, close_code_, close_reason_, shared_.entropy.next());
        close_sent_ = true;
    } else {
        return false;
    }
    return true;
}

}  // namespace longhold::upstream
