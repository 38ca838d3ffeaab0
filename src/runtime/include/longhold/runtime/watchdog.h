// SPDX-License-Identifier: Apache-2.0
// Watchdog: a thread with its own timer that ends a session's right to act when it is due, whatever any loop is doing.
//
// Keeps I1 on the owner's side. In each pass it looks at rights first, so that after a pause (SIGSTOP, suspend, a
// starved machine) nothing else happens before an overdue right is revoked and every socket is reset. It also notices
// loops that no longer tick, and pauses themselves.
//
// Shares nothing that could block: what is watched reaches the thread through a lock-free list, and each watch has one
// atomic word that says whether the thread is looking at it. Callbacks run on the watchdog's thread: they return at
// once, usually after a Loop::post().
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/abort_table.h>
#include <longhold/runtime/acting_right.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace longhold::runtime {

// The process, or its time, stood still.
struct Pause {
    enum class Kind : std::uint8_t {
        late_wake,        // the thread woke this much later than it asked for
        clocks_diverged,  // wall time and boot time moved apart by this much: a step of the wall clock, or a resumed
                          // snapshot
    };
    Kind kind = Kind::late_wake;
    Duration length{};
};

struct WatchdogSettings {
    // The shortest pause that is told.
    Duration pause_min = std::chrono::seconds{1};
    // Runs after every overdue right was dealt with. May be empty.
    std::function<void(Pause)> on_pause{};
};

// One thing that is watched. Destroying it ends the watch: when the destructor returns its callback is not running and
// never runs again (from within that callback: after it has returned). May outlive the Watchdog.
class Watch {
public:
    struct Entry;

    explicit Watch(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}

    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

private:
    std::shared_ptr<Entry> entry_;
};

// Thread-safety: watch_*() and call_at() may be called from any thread, never block, and take effect at once.
class Watchdog {
public:
    // `clock` must show CLOCK_BOOTTIME, as SystemClock does: the thread's timer runs on it. Both outlive the watchdog.
    Watchdog(const Clock& clock, AbortTable& sockets, WatchdogSettings settings);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // At right->deadline(), which is read anew at each look: revokes the right, resets every socket of the table, and
    // then calls `on_expired`, once. A right that was revoked by others is dealt with in the same way: end the watch
    // when a session is left in an orderly manner, or the sockets of the next one are reset. A right never extended is
    // due at once.
    //
    // A dialler must ask the right again after connect(2): a socket that enters the table while it is being reset may
    // not have been connected yet.
    [[nodiscard]] std::unique_ptr<Watch> watch_right(std::shared_ptr<ActingRight> right,
                                                     std::function<void()> on_expired);

    // When `loop` has not ticked for `limit` of time that this thread itself was awake: revokes `right` (if there is
    // one), resets the sockets of `group`, and calls `on_stuck`; again only after the loop has ticked once more. `loop`
    // runs already and outlives the watch. Requires limit >= 4 * Loop::tick_every.
    [[nodiscard]] std::unique_ptr<Watch> watch_loop(const Loop& loop, std::uint32_t group, Duration limit,
                                                    std::function<void()> on_stuck,
                                                    std::shared_ptr<ActingRight> right = nullptr);

    // Calls `work` once at or after `when`: for a last resort that must not depend on any loop.
    [[nodiscard]] std::unique_ptr<Watch> call_at(Instant when, std::function<void()> work);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::runtime
