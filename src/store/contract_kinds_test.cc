// SPDX-License-Identifier: Apache-2.0
// The stores that the contract suite runs on.
#include <longhold/store/memory.h>
#include <longhold/store/open.h>

#include "contract_test.h"
#include "temporary_folder_test.h"

namespace longhold::store::contract {
namespace {

class MemoryWorld final : public StoreWorld {
public:
    std::unique_ptr<Store> open(runtime::Loop& loop) override { return open_memory_store(state_, loop); }

private:
    runtime::SystemClock clock_;
    std::shared_ptr<MemoryState> state_ = make_memory_state(clock_, buckets);
};

class SqliteWorld final : public StoreWorld {
public:
    std::unique_ptr<Store> open(runtime::Loop& loop) override {
        StoreOptions options;
        options.url = "sqlite:" + folder_.path("store.db");
        auto store = open_store(options, loop);
        if (!store) {
            ADD_FAILURE() << store.error().detail;
            std::abort();
        }
        return std::move(*store);
    }

private:
    TemporaryFolder folder_;
};

template <class World>
StoreKind kind(const std::string& name) {
    return {.name = name, .make = [] { return std::make_unique<World>(); }};
}

std::string name_of(const testing::TestParamInfo<StoreKind>& test) {
    return test.param.name;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         testing::Values(kind<MemoryWorld>("memory"), kind<SqliteWorld>("sqlite")), name_of);

}  // namespace longhold::store::contract
