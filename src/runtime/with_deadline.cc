// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/event.h>
#include <longhold/runtime/with_deadline.h>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "cancellation.h"

namespace longhold::runtime {

Task<> run_until(Loop& loop, Instant deadline, Task<> operation) {
    using boost::asio::deferred;
    auto outcome = co_await boost::asio::experimental::make_parallel_group(
                       boost::asio::co_spawn(loop.context(), std::move(operation), deferred),
                       boost::asio::co_spawn(loop.context(), sleep_until(loop, deadline), deferred))
                       .async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
    const auto& failure = std::get<1>(outcome);
    if (!failure) {
        co_return;
    }
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const bool cancelled_from_outside = state.cancelled() != boost::asio::cancellation_type::none;
    if (cancelled_from_outside || !is_cancellation(failure)) {
        std::rethrow_exception(failure);
    }
}

}  // namespace longhold::runtime
