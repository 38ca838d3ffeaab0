// SPDX-License-Identifier: Apache-2.0
// Clock: the one source of time.
#pragma once

#include <longhold/base/time.h>

namespace longhold::runtime {

// Thread-safety: all members may be called from any thread.
class Clock {
public:
    virtual ~Clock() = default;
    // CLOCK_BOOTTIME: monotonic, counts through suspend.
    [[nodiscard]] virtual Instant now() const = 0;
    // CLOCK_REALTIME: for people and records, never for a decision about ownership.
    [[nodiscard]] virtual WallTime wall_now() const = 0;
};

// The kernel's clocks.
class SystemClock final : public Clock {
public:
    [[nodiscard]] Instant now() const override;
    [[nodiscard]] WallTime wall_now() const override;
};

}  // namespace longhold::runtime
