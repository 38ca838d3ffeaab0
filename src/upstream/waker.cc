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

void Waker::set_expiry(Instant deadline) {
    const Duration left = std::clamp(deadline - now(), Duration::zero(), slice_max);
    timer_.expires_after(std::chrono::ceil<std::chrono::microseconds>(left));
}

runtime::Task<> Waker::wait_until(Instant deadline) {
    if (!woken_ && now() < deadline) {
        set_expiry(deadline);
        co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::deferred));
    }
    woken_ = false;
}

}  // namespace longhold::upstream
