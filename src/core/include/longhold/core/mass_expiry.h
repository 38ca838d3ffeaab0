// SPDX-License-Identifier: Apache-2.0
// MassExpiry: holds fences back for a while when many sessions look dead at once (rule 7).
//
// Then it is likelier that the observer or the store is what failed. The guard delays, it never forbids: one lease for
// each wave, then one fence after the other. A wave lasts until no session looks dead any more.
//
// Pure. Thread-safety: none.
#pragma once

#include <longhold/base/time.h>

#include <cstddef>
#include <optional>

namespace longhold::core {

class MassExpiry {
public:
    // At least one session is due to be fenced, and `dead` of `sessions` non-final ones (one's own included) look dead.
    // Returns whether a wave begins now: then fences wait for `wait`.
    [[nodiscard]] bool begins(std::size_t dead, std::size_t sessions, Instant now, Duration wait);

    // No session looks dead.
    void end() { fence_at_.reset(); }

    // When the next fence may be sent; no bound outside a wave.
    [[nodiscard]] Instant fence_at() const { return fence_at_.value_or(Instant::min()); }

    // A fence was sent.
    void fenced(Instant now, Duration pace);

private:
    std::optional<Instant> fence_at_;  // while there is a wave
};

}  // namespace longhold::core
