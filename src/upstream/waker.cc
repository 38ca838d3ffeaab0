// SPDX-License-Identifier: Apache-2.0
#include "waker.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace longhold::upstream {
namespace {

// The timer's clock stands still in suspend, Instant does not: waking this often keeps deadlines honest to within it.
constexpr Duration slice_max = std::chrono::minutes{1};

}  // namespace

void Waker::wake() {
    woken_ = true;
    timer_.cancel();
}

runtime::Task<> Waker::wait_until(Instant deadline) {
    const Instant from = now();
    if (!woken_ && deadline > from) {
        timer_.expires_after(std::chrono::ceil<std::chrono::microseconds>(std::min(deadline - from, slice_max)));
        co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    woken_ = false;
}

}  // namespace longhold::upstream
