// SPDX-License-Identifier: Apache-2.0
// ActingRight: whether a session may act at this instant, readable from every thread without a
// lock.
//
// The control thread extends it after each heartbeat, the watchdog revokes it, and everything that
// acts outward (a sink's write, an application frame) asks it right before acting. Once revoked it
// never holds again: a new session has a new right. Keeps I1 (one owner acts) on the owner's side:
// it ends by the owner's own clock, whatever any loop is doing.
#pragma once

#include <longhold/base/time.h>

#include <atomic>
#include <cstdint>

namespace longhold::runtime {

// Thread-safety: all members may be called from any thread.
class ActingRight {
public:
    // Sets the instant at which the right ends by itself. A later call never moves it back.
    void extend_until(Instant deadline) {
        std::int64_t seen = deadline_.load(std::memory_order_relaxed);
        const std::int64_t wanted = deadline.time_since_epoch().count();
        while (wanted > seen && !deadline_.compare_exchange_weak(seen, wanted, std::memory_order_release)) {
        }
    }

    void revoke() { revoked_.store(true, std::memory_order_release); }

    [[nodiscard]] bool holds(Instant now) const {
        return !revoked_.load(std::memory_order_acquire) && now < deadline();
    }

    [[nodiscard]] bool revoked() const { return revoked_.load(std::memory_order_acquire); }

    [[nodiscard]] Instant deadline() const { return Instant{Duration{deadline_.load(std::memory_order_acquire)}}; }

private:
    std::atomic<std::int64_t> deadline_{0};
    std::atomic<bool> revoked_{false};
};

}  // namespace longhold::runtime
