// SPDX-License-Identifier: Apache-2.0
// Intake: how many bytes one I/O loop has received and not yet seen acked, and when its connections
// must stop reading (DESIGN section 3, G4; invariant I6).
//
// Only the sum is kept. At the high mark all connections of the loop pause, at the low mark all go on:
// one that reads while another may not would push it out. Between pausing and the last read that had
// begun, one burst more may come; beyond that a record is refused, so the bound holds whatever the
// caller does.
//
// Pure accounting. Thread-safety: none; lives on its I/O loop, to which acks return.
#pragma once

#include <longhold/base/time.h>

#include <cstdint>
#include <optional>

namespace longhold::core {

// In bytes, as records count them: text and header. Requires 0 <= low < high, burst > 0.
struct IntakeLimits {
    std::uint64_t low = 0;    // at or below: go on
    std::uint64_t high = 0;   // at or above: pause
    std::uint64_t burst = 0;  // the most that one read can become: of small messages, headers outweigh text
};

enum class Admission : std::uint8_t {
    admitted,
    admitted_pause,  // and no connection may begin another read
    refused,         // no room: nothing is counted; end the connection and resume by cursor, or record a gap
};

class Intake {
public:
    explicit Intake(const IntakeLimits& limits);

    // Counts a record received. `now` only dates the pause.
    [[nodiscard]] Admission admit(std::uint64_t bytes, Instant now);

    // Counts bytes that came back from the sink, acked or not. Returns whether connections may go on
    // that could not before. Requires that they were admitted.
    [[nodiscard]] bool returned(std::uint64_t bytes);

    [[nodiscard]] bool paused() const { return paused_since_.has_value(); }

    // Since when, for the bound that an upstream's ping deadline sets.
    [[nodiscard]] std::optional<Instant> paused_since() const { return paused_since_; }

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    // Never passed.
    [[nodiscard]] std::uint64_t bound() const { return limits_.high + limits_.burst; }

    [[nodiscard]] std::uint64_t pauses() const { return pauses_; }

    [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

private:
    IntakeLimits limits_;
    std::uint64_t bytes_ = 0;
    std::optional<Instant> paused_since_;
    std::uint64_t pauses_ = 0;
    std::uint64_t refusals_ = 0;
};

}  // namespace longhold::core
