// SPDX-License-Identifier: Apache-2.0
// Limit: until when a piece of work on a store's thread may go on.
#pragma once

#include <longhold/runtime/clock.h>

#include <atomic>

namespace longhold::store {

// Thread-safety: over() on the working thread; `abandoned` is set from any. Both references outlive it.
class Limit {
public:
    Limit(const runtime::Clock& clock, Instant deadline, const std::atomic<bool>& abandoned)
        : clock_(clock), deadline_(deadline), abandoned_(abandoned) {}

    // Whether nobody waits for the work any more.
    [[nodiscard]] bool over() const { return abandoned_.load(std::memory_order_relaxed) || clock_.now() >= deadline_; }

private:
    const runtime::Clock& clock_;
    Instant deadline_;
    const std::atomic<bool>& abandoned_;
};

}  // namespace longhold::store
