// SPDX-License-Identifier: Apache-2.0
// Loop: one thread's event loop, with a tick that others can watch.
//
// What lives on a loop is touched from its thread only; post() is the way in from others. Lifetime:
// a Loop outlives all that it runs; whoever owns it joins its TaskGroups before run() may end.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/clock.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>

namespace longhold::runtime {

class Loop {
public:
    explicit Loop(const Clock& clock);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // Runs until finish(), on the calling thread.
    void run();
    // Lets run() return once nothing is left to do. From any thread.
    void finish();

    // Runs `work` on the loop's thread, after the current turn. From any thread. Order of posts
    // from one thread is kept.
    void post(std::function<void()> work);

    [[nodiscard]] boost::asio::io_context& context() { return context_; }

    [[nodiscard]] const Clock& clock() const { return clock_; }

    // When the loop last came round, at most tick_every ago while it is healthy. From any thread.
    [[nodiscard]] Instant ticked_at() const { return Instant{Duration{ticked_at_.load(std::memory_order_acquire)}}; }

    static constexpr Duration tick_every = std::chrono::milliseconds{50};

private:
    struct Ticker;
    void tick();

    const Clock& clock_;
    boost::asio::io_context context_;
    std::atomic<std::int64_t> ticked_at_{0};
    std::unique_ptr<Ticker> ticker_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
};

}  // namespace longhold::runtime
