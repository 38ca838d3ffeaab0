// SPDX-License-Identifier: Apache-2.0
// Socket: one accepted TCP connection, from its first byte to its close.
#pragma once

#include <longhold/base/time.h>

#include <cstdint>
#include <optional>
#include <string>

#include "feed.h"

namespace longhold::mock {

// request: the HTTP head is awaited. open: an upgraded socket. closing: a close frame was sent and the peer's is
// awaited, the interval is open. lingering: all is said, the peer's end of TCP is awaited so that it reads the rest.
enum class Phase : std::uint8_t { request, open, closing, lingering };

struct Socket {
    int descriptor = -1;
    std::uint32_t generation = 0;  // tells a descriptor's users apart
    Phase phase = Phase::request;
    bool half_open = false;
    bool wants_write = false;  // the kernel's buffer is full
    bool shut_down = false;    // our end of TCP is closed
    bool is_dead = false;      // closed; freed after the turn
    std::uint16_t remote_port = 0;

    std::string in;   // a partial head or frame
    std::string out;  // what the kernel has not taken yet, from out_at
    std::size_t out_at = 0;
    std::string message;  // a fragmented message so far
    bool in_message = false;
    bool message_is_text = false;

    Feed* feed = nullptr;      // of an upgraded socket
    std::size_t interval = 0;  // in feed->intervals
    std::uint32_t stream = 0;
    std::uint64_t next_seq = 0;
    std::uint64_t sent = 0;
    std::uint64_t oversize = 0;  // bytes of the next message, when it was told to be large

    std::optional<Instant> timer;       // the earliest set
    Instant deadline = Instant::max();  // of phases other than open
    Instant paced_at{};                 // when a slow socket was last given bytes
    double paced_bytes = 0;             // what it may be given

    [[nodiscard]] std::size_t unsent() const { return out.size() - out_at; }

    [[nodiscard]] bool is_live() const { return phase == Phase::open || phase == Phase::closing; }
};

}  // namespace longhold::mock
