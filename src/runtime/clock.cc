// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/clock.h>

#include <ctime>

namespace longhold::runtime {
namespace {

std::chrono::nanoseconds read(clockid_t id) {
    timespec time{};
    ::clock_gettime(id, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace

Instant SystemClock::now() const {
    return Instant{read(CLOCK_BOOTTIME)};
}

WallTime SystemClock::wall_now() const {
    return WallTime{std::chrono::duration_cast<std::chrono::microseconds>(read(CLOCK_REALTIME))};
}

}  // namespace longhold::runtime
