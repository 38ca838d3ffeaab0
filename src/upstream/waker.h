// SPDX-License-Identifier: Apache-2.0
// Waker: the one timer of a connection: what its dial sleeps on, and what watches over its deadlines once it is open.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>
#include <utility>

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

    [[nodiscard]] Instant now() const { return loop_.clock().now(); }

    // Calls `call` from the loop at `deadline` or earlier, instead of what was to be called before; not after a wake().
    // A call that is due already may still come. Nobody waits meanwhile.
    template <class Call>
    void call_at(Instant deadline, Call call) {
        set_expiry(deadline);
        timer_.async_wait([call = std::move(call)](const boost::system::error_code& cancelled) {
            if (!cancelled) {
                call();
            }
        });
    }

private:
    using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                                    boost::asio::io_context::executor_type>;

    void set_expiry(Instant deadline);

    runtime::Loop& loop_;
    Timer timer_;
    bool woken_ = false;
};

}  // namespace longhold::upstream
