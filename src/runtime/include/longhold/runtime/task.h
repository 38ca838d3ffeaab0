// SPDX-License-Identifier: Apache-2.0
// Task: the coroutine type of everything that waits.
//
// A Task starts when it is awaited (or spawned in a TaskGroup) and runs on its awaiter's loop.
// Expected failures come back as values; the only exception that crosses a co_await is the
// cancellation of a stopped TaskGroup.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace longhold::runtime {

template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace longhold::runtime
