// SPDX-License-Identifier: Apache-2.0
// Waker: what the one coroutine of a connection sleeps on.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>

namespace longhold::upstream {

// Remembers one wake(), so that none is lost between a check and a wait. Thread-safety: none.
class Waker {
public:
    explicit Waker(runtime::Loop& loop) : loop_(loop), timer_(loop.context().get_executor()) {}

    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    void wake();

    // Returns after a wake(), at `deadline`, or earlier. One waiter at a time. Throws only a TaskGroup's cancellation.
    [[nodiscard]] runtime::Task<> wait_until(Instant deadline);

    using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                                    boost::asio::io_context::executor_type>;

    // The parts of wait_until(), for the coroutine in which a connection spends its life: it saves the frame of one
    // more. Whether to wait on timer(), which is then set; forget() follows in any case.
    [[nodiscard]] bool set_timer(Instant deadline);

    [[nodiscard]] Timer& timer() { return timer_; }

    void forget() { woken_ = false; }

    [[nodiscard]] Instant now() const { return loop_.clock().now(); }

private:
    runtime::Loop& loop_;
    Timer timer_;
    bool woken_ = false;
};

}  // namespace longhold::upstream
