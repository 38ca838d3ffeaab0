// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/store/memory.h>

#include "../threaded_store.h"
#include "memory_rows.h"

namespace longhold::store {
namespace {

class State final : public MemoryState {
public:
    State(const runtime::Clock& clock, std::uint32_t buckets)
        : lane(std::make_shared<Lane>("memory-store", clock, std::make_unique<MemoryRows>(clock, buckets))) {}

    const std::shared_ptr<Lane> lane;
};

}  // namespace

std::shared_ptr<MemoryState> make_memory_state(const runtime::Clock& clock, std::uint32_t buckets) {
    invariant(buckets > 0, "a store has at least one bucket");
    return std::make_shared<State>(clock, buckets);
}

std::unique_ptr<Store> open_memory_store(std::shared_ptr<MemoryState> state, runtime::Loop& loop,
                                         std::function<void(const Error&)> on_write_failure) {
    const auto& lane = dynamic_cast<State&>(*state).lane;
    return std::make_unique<ThreadedStore>(loop, lane, lane, std::move(on_write_failure));
}

}  // namespace longhold::store
