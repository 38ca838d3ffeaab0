// SPDX-License-Identifier: Apache-2.0
// Writing a WebSocket client's frames (RFC 6455): always masked, never fragmented.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longhold::upstream {

enum class FrameType : std::uint8_t { text = 0x1, binary = 0x2, close = 0x8, ping = 0x9, pong = 0xa };

// Longest payload of a ping, a pong or a close.
inline constexpr std::size_t control_payload_max = 125;

// The most bytes that a frame adds to its payload.
inline constexpr std::size_t frame_overhead_max = 14;

// Appends one frame with `payload`, masked with `mask_key`, a fresh number from a source that cannot be foreseen.
// Requires a payload of at most control_payload_max for ping and pong.
void append_frame(std::string& out, FrameType type, std::string_view payload, std::uint32_t mask_key);

// Appends a close frame. A `reason` over 123 bytes is cut at a character's edge; with close_code_absent the payload is
// empty. Requires a valid code or close_code_absent, and a reason in UTF-8.
void append_close_frame(std::string& out, std::uint16_t code, std::string_view reason, std::uint32_t mask_key);

}  // namespace longhold::upstream
