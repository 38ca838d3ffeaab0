// SPDX-License-Identifier: Apache-2.0
// with_deadline(): a task that is cancelled when its time is up.
//
// Thread-safety: none; call on `loop`'s thread.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <expected>
#include <optional>
#include <utility>

namespace longhold::runtime {

// The deadline came first.
struct Timeout {
    friend bool operator==(const Timeout&, const Timeout&) = default;
};

// Runs `operation` until its end or, cancelling it, until `deadline`; either way it has ended when this returns. Throws
// what `operation` threw, unless the deadline's own cancellation caused it.
[[nodiscard]] Task<> run_until(Loop& loop, Instant deadline, Task<> operation);

// Keeps what `operation` returns. For with_deadline().
template <class T>
Task<> keep_result(Task<T> operation, std::optional<T>& result) {
    result.emplace(co_await std::move(operation));
}

// Runs `operation` until `deadline`. Errors: Timeout; the operation was then cancelled and has already ended. A result
// that was reached is never thrown away, even when it comes with the deadline. `T` is usually a Result.
template <class T>
[[nodiscard]] Task<std::expected<T, Timeout>> with_deadline(Loop& loop, Instant deadline, Task<T> operation) {
    std::optional<T> result;
    co_await run_until(loop, deadline, keep_result(std::move(operation), result));
    if (!result) {
        co_return std::unexpected(Timeout{});
    }
    co_return std::move(*result);
}

}  // namespace longhold::runtime
