// SPDX-License-Identifier: Apache-2.0
// FrameDecoder: the bytes that a WebSocket server sends (RFC 6455) become messages, pings, pongs and a close.
//
// Sans-I/O: no clock, socket or thread. Any split of a byte stream over feed() calls gives the same events. A whole
// unfragmented message is handed out in place, without a copy; only partial and fragmented ones own memory, which is
// freed with their end, so that the decoder of an idle connection owns nothing. Every length is checked against its
// limit before anything is added to it.
#pragma once

#include <longhold/upstream/utf8.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhold::upstream {

// How a server broke the protocol, or went over a limit of ours.
enum class DecodeFault : std::uint8_t {
    reserved_bits,
    unknown_opcode,
    masked_frame,
    fragmented_control,
    control_too_long,
    length_not_minimal,
    length_top_bit,
    frame_too_big,
    message_too_big,
    unexpected_continuation,
    continuation_expected,
    close_payload_of_one_byte,
    close_code_invalid,
    invalid_utf8,
};

// The close code that RFC 6455 (section 7.4.1) asks for: 1002, 1007 or 1009.
[[nodiscard]] std::uint16_t close_code_for(DecodeFault fault);

// Whether `code` may stand in a close frame: 1000 to 1003, 1007 to 1014, 3000 to 4999.
[[nodiscard]] bool close_code_valid(std::uint16_t code);

// A close frame without a code. Never sent on the wire.
inline constexpr std::uint16_t close_code_absent = 1005;

// What feed() finds, in order. Views are valid during the call only.
class FrameVisitor {
public:
    virtual ~FrameVisitor() = default;
    // A whole message; text is valid UTF-8. False: stop here, the rest is to be fed later.
    virtual bool on_message(std::string_view data, bool binary) = 0;
    virtual void on_ping(std::string_view payload) = 0;
    virtual void on_pong(std::string_view payload) = 0;
    // The last event. `code` is close_code_absent where the frame had none.
    virtual void on_close(std::uint16_t code, std::string_view reason) = 0;
    // The last event. `detail` is a sentence for people; limits are named with the size that broke them.
    virtual void on_fault(DecodeFault fault, std::string_view detail) = 0;
};

struct FrameLimits {
    std::size_t frame_bytes_max = std::size_t{16} << 20U;
    std::size_t message_bytes_max = std::size_t{64} << 20U;
};

// Thread-safety: none.
class FrameDecoder {
public:
    explicit FrameDecoder(FrameLimits limits) : limits_(limits) {}

    FrameDecoder(const FrameDecoder&) = delete;
    FrameDecoder& operator=(const FrameDecoder&) = delete;

    // Decodes `bytes`; returns how many were used: all, unless on_message() asked to stop. After a close or a fault the
    // rest is used up unread.
    std::size_t feed(std::string_view bytes, FrameVisitor& visitor);

    // Whether a close or a fault was found.
    [[nodiscard]] bool finished() const { return finished_; }

    // Bytes held for a message or frame that has not ended.
    [[nodiscard]] std::size_t owned_bytes() const { return message_.capacity() + control_.capacity(); }

private:
    enum class Step : std::uint8_t { next, need_more, stop };

    std::size_t feed_whole_frames(std::string_view bytes, FrameVisitor& visitor, bool& stopped);
    Step take_header(std::string_view bytes, std::size_t& used, FrameVisitor& visitor);
    bool check_start(FrameVisitor& visitor);
    bool check_sequence(FrameVisitor& visitor);
    bool check_length(FrameVisitor& visitor);
    Step take_payload(std::string_view bytes, std::size_t& used, FrameVisitor& visitor);
    Step take_control(std::string_view chunk, FrameVisitor& visitor);
    Step take_data(std::string_view chunk, FrameVisitor& visitor);
    Step end_message(std::string_view message, FrameVisitor& visitor);
    void end_control(std::string_view payload, FrameVisitor& visitor);
    void end_close(std::string_view payload, FrameVisitor& visitor);
    void fail(FrameVisitor& visitor, DecodeFault fault, std::string_view detail);

    [[nodiscard]] bool final() const { return (start_ & 0x80U) != 0; }

    [[nodiscard]] unsigned opcode() const { return start_ & 0x0fU; }

    [[nodiscard]] bool control() const { return (start_ & 0x08U) != 0; }

    FrameLimits limits_;
    std::string message_;  // the message so far
    std::string control_;  // the control frame so far
    std::uint64_t frame_length_ = 0;
    std::uint64_t frame_left_ = 0;
    std::array<unsigned char, 10> header_{};
    std::uint8_t header_size_ = 0;
    std::uint8_t start_ = 0;  // first byte of the frame at hand
    Utf8Validator utf8_;
    bool in_payload_ = false;
    bool in_message_ = false;  // a first fragment was seen, its last was not
    bool binary_ = false;
    bool finished_ = false;
};

}  // namespace longhold::upstream
