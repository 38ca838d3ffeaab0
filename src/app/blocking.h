// SPDX-License-Identifier: Apache-2.0
// run_blocking(): a call that may block, on a thread of its own, awaited from a loop.
#pragma once

#include <longhold/runtime/event.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/runtime/thread.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace longhold::app {

// Returns what `call` returns; waits for it even when its task is cancelled, so that nothing that it uses goes first.
// That wait holds up the loop: whoever passes a call that may never return arms a last resort, see Watchdog::call_at().
template <class T>
[[nodiscard]] runtime::Task<T> run_blocking(runtime::Loop& loop, std::function<T()> call) {
    struct Shared {
        explicit Shared(runtime::Loop& on) : ended(on) {}

        std::optional<T> result;
        runtime::Event ended;
    };

    const auto shared = std::make_shared<Shared>(loop);
    const runtime::Thread thread{"blocking", [&loop, shared, call = std::move(call)] {
                                     auto result = std::make_shared<T>(call());
                                     loop.post([shared, result] {
                                         shared->result.emplace(std::move(*result));
                                         shared->ended.notify();
                                     });
                                 }};
    while (!shared->result) {
        co_await shared->ended.wait();
    }
    co_return std::move(*shared->result);
}

}  // namespace longhold::app
