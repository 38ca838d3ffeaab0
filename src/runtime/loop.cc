// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/loop.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace longhold::runtime {

struct Loop::Ticker {
    explicit Ticker(boost::asio::io_context& context) : timer(context) {}

    boost::asio::steady_timer timer;
    bool finishing = false;  // touched on the loop's thread only
};

Loop::Loop(const Clock& clock)
    : clock_(clock), context_(1), ticker_(std::make_unique<Ticker>(context_)), guard_(context_.get_executor()) {
    ticked_at_.store(clock_.now().time_since_epoch().count(), std::memory_order_release);
}

Loop::~Loop() = default;

void Loop::run() {
    tick();
    context_.run();
}

void Loop::finish() {
    post([this] {
        ticker_->finishing = true;
        ticker_->timer.cancel();
        guard_.reset();
    });
}

void Loop::post(std::function<void()> work) {
    boost::asio::post(context_, std::move(work));
}

void Loop::tick() {
    ticked_at_.store(clock_.now().time_since_epoch().count(), std::memory_order_release);
    if (ticker_->finishing) {
        return;
    }
    ticker_->timer.expires_after(tick_every);
    ticker_->timer.async_wait([this](boost::system::error_code) { tick(); });
}

}  // namespace longhold::runtime
