// SPDX-License-Identifier: Apache-2.0
// Event: something that coroutines of one loop wait for; and waiting for an instant.
//
// Thread-safety: none; lives on its loop's thread. Lifetime: outlives its waits.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>

namespace longhold::runtime {

// Wakes those who wait. Nothing is remembered: check the condition, then wait, in one turn.
class Event {
public:
    explicit Event(Loop& loop);
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    // Wakes all current waiters, after the current turn.
    void notify();

    // Returns at the next notify(), or at `deadline`, whichever is first; may also return early.
    // One waiter at a time when a deadline is given. Throws only the cancellation of a stopped
    // TaskGroup.
    [[nodiscard]] Task<> wait();
    [[nodiscard]] Task<> wait_until(Instant deadline);

private:
    Loop& loop_;
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>
        timer_;
};

// Returns at or after `deadline`. Throws only the cancellation of a stopped TaskGroup.
[[nodiscard]] Task<> sleep_until(Loop& loop, Instant deadline);

// Lets everything else that is ready on `loop` run first.
[[nodiscard]] Task<> yield(Loop& loop);

}  // namespace longhold::runtime
