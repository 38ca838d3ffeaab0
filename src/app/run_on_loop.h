// SPDX-License-Identifier: Apache-2.0
// run_on_loop(): runs one task to its end on the calling thread.
#pragma once

#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/runtime/task_group.h>

#include <exception>
#include <optional>
#include <utility>

namespace longhold::app {

template <class T>
struct Ending {
    std::optional<T> result;
    std::exception_ptr failure;
};

// `ending` and `loop` outlive it.
template <class T>
runtime::Task<> keep_ending(runtime::Task<T> work, Ending<T>& ending, runtime::Loop& loop) {
    try {
        T result = co_await std::move(work);
        ending.result.emplace(std::move(result));
    } catch (...) {
        ending.failure = std::current_exception();
    }
    loop.finish();
}

// The loop cannot run again afterwards. Throws what `work` throws.
template <class T>
[[nodiscard]] T run_on_loop(runtime::Loop& loop, runtime::Task<T> work) {
    Ending<T> ending;
    runtime::TaskGroup group{loop};
    group.spawn(keep_ending(std::move(work), ending, loop));
    loop.run();
    if (ending.failure) {
        std::rethrow_exception(ending.failure);
    }
    return std::move(*ending.result);
}

}  // namespace longhold::app
