// SPDX-License-Identifier: Apache-2.0
// LocalClock: a machine's CLOCK_BOOTTIME as it runs: monotonic, with a rate that is wrong by some parts in a million;
// and the offset of its wall clock, by which nothing may be decided.
#pragma once

#include <longhold/base/time.h>
#include <longhold/sim/plan.h>

namespace longhold::sim {

class LocalClock {
public:
    LocalClock() = default;

    LocalClock(Nanos now, Instant local, std::int64_t ppm) : true_(now), local_(local), ppm_(ppm) {}

    [[nodiscard]] Instant at(Nanos now) const {
        const Nanos passed = now - true_;
        return local_ + Duration{passed + passed * ppm_ / million};
    }

    // The first true time at which the clock shows `local` or later.
    [[nodiscard]] Nanos when(Instant local) const {
        const Nanos wanted = (local - local_).count();
        if (wanted <= 0) {
            return true_;
        }
        if (wanted > horizon) {
            return true_ + horizon;
        }
        Nanos passed = wanted * million / (million + ppm_);
        while (passed + passed * ppm_ / million < wanted) {
            ++passed;
        }
        return true_ + passed;
    }

    void set_rate(Nanos now, std::int64_t ppm) {
        local_ = at(now);
        true_ = now;
        ppm_ = ppm;
    }

    [[nodiscard]] WallTime wall(Nanos now) const {
        return WallTime{} + std::chrono::duration_cast<std::chrono::microseconds>(Duration{now + wall_offset_});
    }

    void jump_wall(Nanos by) { wall_offset_ += by; }

private:
    static constexpr std::int64_t million = 1'000'000;
    // Keeps products within 64 bits: two hours.
    static constexpr Nanos horizon = 7'200 * second;

    Nanos true_ = 0;
    Instant local_{};
    std::int64_t ppm_ = 0;
    Nanos wall_offset_ = 0;
};

}  // namespace longhold::sim
