// SPDX-License-Identifier: Apache-2.0
#include "waker.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

namespace longhold::upstream {
namespace {

// The timer's clock stands still in suspend, Instant does not: waking this often keeps deadlines honest to within it.
constexpr Duration slice_max = std::chrono::minutes{1};

}  // namespace

void Waker::wake() {
    woken_ = true;
    timer_.cancel();
}

bool Waker::set_timer(Instant deadline) {
    const Instant from = now();
    if (woken_ || deadline <= from) {
        return false;
    }
    timer_.expires_after(std::chrono::ceil<std::chrono::microseconds>(std::min(deadline - from, slice_max)));
    return true;
}

runtime::Task<> Waker::wait_until(Instant deadline) {
    if (set_timer(deadline)) {
        co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::deferred));
    }
    forget();
}

}  // namespace longhold::upstream
