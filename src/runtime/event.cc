// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/event.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace longhold::runtime {
namespace {

// Asio's timers run on CLOCK_MONOTONIC, which stands still in suspend; waiting in slices keeps an
// Instant honest to within one.
constexpr Duration slice_max = std::chrono::hours{1};

}  // namespace

Event::Event(Loop& loop) : loop_(loop), timer_(loop.context().get_executor()) {}

void Event::notify() {
    timer_.cancel();
}

Task<> Event::wait() {
    // Setting the expiry ends the waits that are under way: a second waiter must not wake the first.
    constexpr auto never = std::chrono::steady_clock::time_point::max();
    if (timer_.expiry() != never) {
        timer_.expires_at(never);
    }
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

Task<> Event::wait_until(Instant deadline) {
    const Duration left = deadline - loop_.clock().now();
    if (left <= Duration::zero()) {
        co_await yield(loop_);
        co_return;
    }
    timer_.expires_after(std::min(left, slice_max));
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

Task<> sleep_until(Loop& loop, Instant deadline) {
    boost::asio::steady_timer timer{loop.context()};
    for (;;) {
        const Duration left = deadline - loop.clock().now();
        if (left <= Duration::zero()) {
            break;
        }
        timer.expires_after(std::min(left, slice_max));
        co_await timer.async_wait(boost::asio::use_awaitable);
    }
}

Task<> yield(Loop& loop) {
    co_await boost::asio::post(loop.context(), boost::asio::use_awaitable);
}

}  // namespace longhold::runtime
