// SPDX-License-Identifier: Apache-2.0
// A store inside the process: for tests and trials, with several workers on one state if wanted.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/store/store.h>

#include <functional>
#include <memory>

namespace longhold::store {

// What several memory stores share. Thread-safety: stores of different loops and threads may share one. The clock
// outlives it.
class MemoryState {
public:
    virtual ~MemoryState() = default;
};

[[nodiscard]] std::shared_ptr<MemoryState> make_memory_state(const runtime::Clock& clock, std::uint32_t buckets = 16);

[[nodiscard]] std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryState> state, runtime::Loop& loop,
                                                       std::function<void(const Error&)> on_write_failure = {});

}  // namespace longhold::store
