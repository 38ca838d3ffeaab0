// SPDX-License-Identifier: Apache-2.0
// The order in which a worker hands over its connections, and how many at once (DESIGN section 7).
//
// Shortest first, which gets the most connections handed over before any deadline (W. E. Smith,
// "Various optimizers for single-stage production", 1956): those with the least to flush. Among
// equals the stable ones, since an unstable one is likely to fail on its new owner too; then those
// that were active last, where a gap costs most. What is not wanted any more comes last: nobody
// waits for it.
//
// What a handover really takes is known only once some are through: an upstream may ignore the close until its timeout.
// And too many at once wait for each other at the store, which is a gap for each of them. DrainPace follows what it
// sees: more while handovers are quick, fewer when they slow each other down, and as many as it takes to end in time.
//
// Pure; the caller runs the steps.
#pragma once

#include <longhold/base/time.h>
#include <longhold/core/rows.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhold::core {

// A connection that the worker holds, as far as its drain goes.
struct HeldConnection {
    ConnectionId id;
    DesiredState desired = DesiredState::started;
    std::uint64_t pending_bytes = 0;  // received and not yet acked
    std::uint32_t stability = 0;      // strikes; 0 is stable
    Instant active_at{};              // of the last message
    Duration cost{};                  // of a handover beyond its flush: store, dial, ready
};

struct DrainBudget {
    Duration handover{};                                      // for all of them
    std::uint64_t flush_bytes_per_second = 8U * 1024 * 1024;  // of the sink, all connections together
    std::uint32_t concurrency_min = 1;                        // as many at once even where fewer would do
    std::uint32_t concurrency_max = 256;                      // in the beginning; DrainPace goes on from there
};

struct DrainOrder {
    std::vector<std::size_t> order;  // indices of the connections, first to last
    std::uint32_t concurrency = 1;   // the fewest at once that end within four fifths of the budget
    Duration expected{};             // the time that this takes
    bool fits = true;                // within the budget
};

// Requires concurrency_max >= concurrency_min > 0 and flush_bytes_per_second > 0.
[[nodiscard]] DrainOrder drain_order(std::span<const HeldConnection> held, const DrainBudget& budget);

// How many handovers run at once, as a drain goes on. Thread-safety: none.
class DrainPace {
public:
    DrainPace() = default;

    // Begins as drain_order() said. All are to be through by about `due`, which lies before the drain's deadline: what
    // is slower than the mean needs the rest.
    DrainPace(std::uint32_t at_once, Duration cost, Instant due)
        : at_once_min_(at_once), window_(at_once), cost_(cost), due_(due) {}

    // A handover is through, from the order to close to the end of its release, and took so long.
    void took(Duration time);

    // As many as are quick together, but no fewer than have `left` more through when due; then all of them.
    // `running`: how long the oldest handover that is not through has been going on.
    [[nodiscard]] std::uint32_t at_once(std::size_t left, Duration running, Instant now) const;

    // How long one that begins now may take: until due, or a second where that has passed.
    [[nodiscard]] Duration one_within(Instant now) const;

private:
    std::uint32_t at_once_min_ = 1;
    double window_ = 1;  // at once, as long as the time allows
    double slow_ = 0;    // handovers that took long since the window was last made smaller
    Duration cost_{};
    Instant due_{};
};

}  // namespace longhold::core
