// SPDX-License-Identifier: Apache-2.0
// Telling the end that a task was asked for from a failure.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <exception>

namespace longhold::runtime {

// Whether `failure`, which is not null, is what an awaited operation throws once it is cancelled.
[[nodiscard]] inline bool is_cancellation(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        return error.code() == boost::asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

}  // namespace longhold::runtime
