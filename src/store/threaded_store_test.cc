// SPDX-License-Identifier: Apache-2.0
#include "threaded_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <chrono>

#include "contract_test.h"
#include "memory/memory_rows.h"

namespace longhold::store {
namespace {

using namespace std::chrono_literals;
using contract::Handle;

// A memory store whose thread can be kept busy.
class ThreadedStoreTest : public testing::Test {
protected:
    ~ThreadedStoreTest() override { release(); }

    // Keeps the thread busy until release().
    void occupy() {
        busy_ = true;
        EXPECT_TRUE(lane_->thread.submit([this] { busy_.wait(true); }));
    }

    void release() {
        busy_ = false;
        busy_.notify_all();
    }

    core::Verdict put(const std::string& id, Instant deadline) {
        PutConnection verb{.id = ConnectionId{id}, .labels = {}, .spec = "{}"};
        return store_(store_->put_connection(std::move(verb), deadline)).verdict;
    }

    std::vector<std::string> there() {
        const auto page = store_(store_->list_connections({}, true, ConnectionId{}, 10, store_.soon()));
        return page ? contract::ids(page->rows) : std::vector<std::string>{"unavailable"};
    }

    runtime::SystemClock clock_;
    std::atomic<bool> busy_{false};
    std::shared_ptr<Lane> lane_ =
        std::make_shared<Lane>("test-store", clock_, std::make_unique<MemoryRows>(clock_, contract::buckets));
    Handle store_{[this](runtime::Loop& loop) {
        return std::make_unique<ThreadedStore>(loop, lane_, lane_, std::function<void(const Error&)>{});
    }};
};

TEST_F(ThreadedStoreTest, ACallEndsAtItsDeadlineAndItsJobIsNeverBegun) {
    occupy();
    const Instant began = store_.now();
    EXPECT_EQ(put("late", store_.in(50ms)), core::Verdict::unknown);
    EXPECT_GE(store_.now() - began, 50ms);
    release();
    EXPECT_EQ(put("in time", store_.soon()), core::Verdict::done);
    EXPECT_EQ(there(), std::vector<std::string>{"in time"});
}

TEST_F(ThreadedStoreTest, AJobThatWasAbandonedBeforeItsDeadlineIsNeverBegun) {
    occupy();
    bool ended = false;
    {
        boost::asio::cancellation_signal signal;
        PutConnection verb{.id = ConnectionId{"cancelled"}, .labels = {}, .spec = "{}"};
        boost::asio::co_spawn(
            store_.loop().context(), store_->put_connection(std::move(verb), store_.soon()),
            boost::asio::bind_cancellation_slot(
                signal.slot(), [&](const std::exception_ptr& thrown, const core::Outcome<core::ConnectionRow>&) {
                    EXPECT_TRUE(thrown);
                    ended = true;
                }));
        store_.loop().context().run_one();
        signal.emit(boost::asio::cancellation_type::terminal);
        while (!ended) {
            store_.loop().context().run_one();
        }
    }
    release();
    EXPECT_TRUE(there().empty());
}

}  // namespace
}  // namespace longhold::store
