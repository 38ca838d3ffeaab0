// SPDX-License-Identifier: Apache-2.0
// Time as types: Duration, Instant (monotonic, counts through suspend) and WallTime (for people and
// records only).
//
// No clock is read here: `now` is always handed in. `runtime::Clock` reads CLOCK_BOOTTIME for
// Instant and CLOCK_REALTIME for WallTime. Wall time decides nothing about ownership.
#pragma once

#include <chrono>

namespace longhold {

using Duration = std::chrono::nanoseconds;

// The time base of Instant. It has no now(): only runtime reads clocks.
struct BootTime {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<BootTime, Duration>;
    static constexpr bool is_steady = true;
};

using Instant = BootTime::time_point;
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// `duration * factor`, rounded down to nanoseconds. Requires a result below 292 years.
constexpr Duration scale(Duration duration, double factor) {
    return Duration{static_cast<Duration::rep>(static_cast<double>(duration.count()) * factor)};
}

}  // namespace longhold
