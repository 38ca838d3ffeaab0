// SPDX-License-Identifier: Apache-2.0
#include <longhold/upstream/frame_decoder.h>

#include <algorithm>

namespace longhold::upstream {
namespace {

constexpr unsigned opcode_continuation = 0x0;
constexpr unsigned opcode_binary = 0x2;
constexpr unsigned opcode_close = 0x8;
constexpr unsigned opcode_ping = 0x9;
constexpr unsigned opcode_pong = 0xa;
constexpr unsigned whole_text = 0x81;
constexpr unsigned whole_binary = 0x82;

// A frame up to this size gets its memory at once; a longer one as its bytes arrive, so that an announced
// length alone costs little.
constexpr std::uint64_t reserve_max = std::uint64_t{64} << 10U;

bool opcode_known(unsigned opcode) {
    return opcode <= opcode_binary || (opcode >= opcode_close && opcode <= opcode_pong);
}

std::size_t header_length(unsigned char second) {
    const unsigned length = second & 0x7fU;
    return length < 126 ? 2 : length == 126 ? 4 : 10;
}

void release(std::string& memory) {
    std::string{}.swap(memory);
}

std::string over_limit(std::string_view what, std::uint64_t size, std::string_view option, std::size_t limit) {
    return std::string{what} + " of " + std::to_string(size) + " bytes is over the limit of " + std::to_string(limit) +
           " bytes (" + std::string{option} + ")";
}

}  // namespace

std::uint16_t close_code_for(DecodeFault fault) {
    switch (fault) {
        case DecodeFault::invalid_utf8:
            return 1007;
        case DecodeFault::frame_too_big:
        case DecodeFault::message_too_big:
            return 1009;
        case DecodeFault::reserved_bits:
        case DecodeFault::unknown_opcode:
        case DecodeFault::masked_frame:
        case DecodeFault::fragmented_control:
        case DecodeFault::control_too_long:
        case DecodeFault::length_not_minimal:
        case DecodeFault::length_top_bit:
        case DecodeFault::unexpected_continuation:
        case DecodeFault::continuation_expected:
        case DecodeFault::close_payload_of_one_byte:
        case DecodeFault::close_code_invalid:
            return 1002;
    }
    return 1002;
}

bool close_code_valid(std::uint16_t code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

std::size_t FrameDecoder::feed(std::string_view bytes, FrameVisitor& visitor) {
    std::size_t used = 0;
    while (used < bytes.size() && !finished_) {
        Step step = Step::next;
        if (in_payload_) {
            step = take_payload(bytes.substr(used), used, visitor);
        } else {
            if (header_size_ == 0 && !in_message_) {
                bool stopped = false;
                used += feed_whole_frames(bytes.substr(used), visitor, stopped);
                if (stopped || used == bytes.size() || finished_) {
                    break;
                }
            }
            step = take_header(bytes.substr(used), used, visitor);
            if (step == Step::next) {
                step = take_payload(bytes.substr(used), used, visitor);
            }
        }
        if (step == Step::stop) {
            break;
        }
    }
    return finished_ ? bytes.size() : used;
}

// The path of almost all traffic: whole unfragmented data frames, one after another, in place. Leaves everything else,
// faults included, to the general path.
std::size_t FrameDecoder::feed_whole_frames(std::string_view bytes, FrameVisitor& visitor, bool& stopped) {
    const std::uint64_t length_max = std::min(limits_.frame_bytes_max, limits_.message_bytes_max);
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (end - at >= 2) {
        const unsigned start = static_cast<unsigned char>(at[0]);
        std::size_t length = static_cast<unsigned char>(at[1]);
        std::size_t header = 2;
        if ((start != whole_text && start != whole_binary) || length > 126) {
            break;
        }
        if (length == 126) {
            if (end - at < 4) {
                break;
            }
            length = std::size_t{static_cast<unsigned char>(at[2])} << 8U | static_cast<unsigned char>(at[3]);
            header = 4;
            if (length < 126) {
                break;
            }
        }
        if (length > length_max || static_cast<std::size_t>(end - at) - header < length) {
            break;
        }
        const std::string_view payload{at + header, length};
        at += header + length;
        if (start == whole_text && !valid_utf8(payload)) {
            fail(visitor, DecodeFault::invalid_utf8, "a text message is not valid UTF-8");
            break;
        }
        if (!visitor.on_message(payload, start == whole_binary)) {
            stopped = true;
            break;
        }
    }
    return static_cast<std::size_t>(at - bytes.data());
}

// Gathers the header. What its first two bytes break is reported before the rest is waited for.
FrameDecoder::Step FrameDecoder::take_header(std::string_view bytes, std::size_t& used, FrameVisitor& visitor) {
    std::size_t at = 0;
    std::size_t wanted = 2;
    for (;;) {
        while (header_size_ < wanted && at < bytes.size()) {
            header_[header_size_++] = static_cast<unsigned char>(bytes[at++]);
        }
        if (header_size_ < wanted) {
            used += at;
            return Step::need_more;
        }
        if (header_size_ == 2 && !check_start(visitor)) {
            return Step::stop;
        }
        wanted = header_length(header_[1]);
        if (header_size_ == wanted) {
            break;
        }
    }
    used += at;
    if (!check_length(visitor)) {
        return Step::stop;
    }
    header_size_ = 0;
    in_payload_ = true;
    frame_left_ = frame_length_;
    if (!control() && opcode() != opcode_continuation) {
        in_message_ = true;
        binary_ = opcode() == opcode_binary;
        utf8_ = Utf8Validator{};
    }
    return Step::next;
}

bool FrameDecoder::check_start(FrameVisitor& visitor) {
    start_ = header_[0];
    if ((start_ & 0x70U) != 0) {
        fail(visitor, DecodeFault::reserved_bits, "a frame has reserved bits set, but no extension was agreed");
    } else if (!opcode_known(opcode())) {
        fail(visitor, DecodeFault::unknown_opcode, "a frame has the unknown opcode " + std::to_string(opcode()));
    } else if ((header_[1] & 0x80U) != 0) {
        fail(visitor, DecodeFault::masked_frame, "a frame is masked, which servers must not do");
    } else if (control() && !final()) {
        fail(visitor, DecodeFault::fragmented_control, "a control frame is fragmented");
    } else if (control() && header_[1] > 125) {
        fail(visitor, DecodeFault::control_too_long, "a control frame is longer than 125 bytes");
    } else {
        return control() || check_sequence(visitor);
    }
    return false;
}

bool FrameDecoder::check_sequence(FrameVisitor& visitor) {
    if (opcode() == opcode_continuation && !in_message_) {
        fail(visitor, DecodeFault::unexpected_continuation, "a continuation frame came without a message to continue");
        return false;
    }
    if (opcode() != opcode_continuation && in_message_) {
        fail(visitor, DecodeFault::continuation_expected, "a new message began inside a fragmented one");
        return false;
    }
    return true;
}

bool FrameDecoder::check_length(FrameVisitor& visitor) {
    const std::size_t bytes = header_length(header_[1]) - 2;
    std::uint64_t length = bytes == 0 ? header_[1] : 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        length = length << 8U | header_[2 + i];
    }
    frame_length_ = length;
    if ((length >> 63U) != 0) {
        fail(visitor, DecodeFault::length_top_bit, "a frame's 64-bit length has its top bit set");
    } else if ((bytes == 2 && length < 126) || (bytes == 8 && length < 65'536)) {
        fail(visitor, DecodeFault::length_not_minimal,
             "a frame's length of " + std::to_string(length) + " is not written in the shortest form");
    } else if (!control() && length > limits_.frame_bytes_max) {
        fail(visitor, DecodeFault::frame_too_big,
             over_limit("a frame", length, "frame_bytes_max", limits_.frame_bytes_max));
    } else if (!control() && length > limits_.message_bytes_max - message_.size()) {
        fail(visitor, DecodeFault::message_too_big,
             over_limit("a message", length + message_.size(), "message_bytes_max", limits_.message_bytes_max));
    } else {
        return true;
    }
    return false;
}

FrameDecoder::Step FrameDecoder::take_payload(std::string_view bytes, std::size_t& used, FrameVisitor& visitor) {
    const std::string_view chunk = bytes.substr(0, std::min<std::uint64_t>(frame_left_, bytes.size()));
    used += chunk.size();
    frame_left_ -= chunk.size();
    if (frame_left_ == 0) {
        in_payload_ = false;
    }
    return control() ? take_control(chunk, visitor) : take_data(chunk, visitor);
}

FrameDecoder::Step FrameDecoder::take_control(std::string_view chunk, FrameVisitor& visitor) {
    if (frame_left_ != 0 || chunk.size() != frame_length_) {
        control_.append(chunk);
        if (frame_left_ != 0) {
            return Step::need_more;
        }
        chunk = control_;
    }
    end_control(chunk, visitor);
    release(control_);
    return finished_ ? Step::stop : Step::next;
}

FrameDecoder::Step FrameDecoder::take_data(std::string_view chunk, FrameVisitor& visitor) {
    const bool ends = frame_left_ == 0 && final();
    if (ends && message_.empty() && chunk.size() == frame_length_ && opcode() != opcode_continuation) {
        if (!binary_ && !valid_utf8(chunk)) {
            fail(visitor, DecodeFault::invalid_utf8, "a text message is not valid UTF-8");
            return Step::stop;
        }
        return end_message(chunk, visitor);
    }
    if (!binary_ && (!utf8_.feed(chunk) || (ends && !utf8_.complete()))) {
        fail(visitor, DecodeFault::invalid_utf8, "a text message is not valid UTF-8");
        return Step::stop;
    }
    if (message_.empty() && frame_length_ <= reserve_max) {
        message_.reserve(frame_length_);
    }
    message_.append(chunk);
    return ends ? end_message(message_, visitor) : Step::next;
}

FrameDecoder::Step FrameDecoder::end_message(std::string_view message, FrameVisitor& visitor) {
    in_message_ = false;
    const bool go_on = visitor.on_message(message, binary_);
    release(message_);
    return go_on ? Step::next : Step::stop;
}

void FrameDecoder::end_control(std::string_view payload, FrameVisitor& visitor) {
    if (opcode() == opcode_ping) {
        visitor.on_ping(payload);
    } else if (opcode() == opcode_pong) {
        visitor.on_pong(payload);
    } else {
        end_close(payload, visitor);
    }
}

void FrameDecoder::end_close(std::string_view payload, FrameVisitor& visitor) {
    if (payload.size() == 1) {
        fail(visitor, DecodeFault::close_payload_of_one_byte, "a close frame has a payload of one byte");
        return;
    }
    std::uint16_t code = close_code_absent;
    std::string_view reason;
    if (!payload.empty()) {
        code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8U |
                                          static_cast<unsigned char>(payload[1]));
        reason = payload.substr(2);
        if (!close_code_valid(code)) {
            fail(visitor, DecodeFault::close_code_invalid,
                 "a close frame has the code " + std::to_string(code) + ", which must not be sent");
            return;
        }
        if (!valid_utf8(reason)) {
            fail(visitor, DecodeFault::invalid_utf8, "the reason in a close frame is not valid UTF-8");
            return;
        }
    }
    finished_ = true;
    visitor.on_close(code, reason);
    release(message_);
}

void FrameDecoder::fail(FrameVisitor& visitor, DecodeFault fault, std::string_view detail) {
    finished_ = true;
    visitor.on_fault(fault, detail);
    release(message_);
    release(control_);
}

}  // namespace longhold::upstream
