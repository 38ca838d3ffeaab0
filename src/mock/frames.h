// SPDX-License-Identifier: Apache-2.0
// The server's side of RFC 6455's framing: client frames are taken apart and checked, server frames are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longhold::mock {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

inline constexpr std::size_t client_message_max = std::size_t{1} << 20U;

// What lies at the beginning of some bytes from a client.
struct FrameStep {
    enum class Kind : std::uint8_t { incomplete, frame, breach } kind = Kind::incomplete;
    std::size_t used = 0;  // bytes of the frame
    Opcode opcode = Opcode::continuation;
    bool final = false;
    std::string_view payload;  // unmasked, in the caller's bytes
    std::uint16_t code = 0;    // of a breach: the close code that answers it
    std::string_view reason;   // of a breach
};

// Unmasks a frame in place once it is there as a whole. Checks each frame by itself: masked, no reserved bits,
// known opcode, shortest length form, control frames short and whole, at most client_message_max.
[[nodiscard]] FrameStep take_client_frame(std::span<char> bytes);

// Why a close frame's payload is not allowed; empty when it is.
[[nodiscard]] std::string_view close_payload_fault(std::string_view payload);

[[nodiscard]] bool is_utf8(std::string_view text);

// Appends the header of an unfragmented server frame.
void append_header(std::string& out, Opcode opcode, std::size_t payload_size);
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
void append_close(std::string& out, std::uint16_t code, std::string_view reason);

}  // namespace longhold::mock
