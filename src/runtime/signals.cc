// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/signals.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <utility>

namespace longhold::runtime {

struct Signals::Impl {
    Impl(boost::asio::io_context& context, SignalHandlers given)
        : handlers(std::move(given)), set(context, SIGTERM, SIGINT, SIGHUP) {}

    SignalHandlers handlers;
    boost::asio::signal_set set;
};

Signals::Signals(Loop& loop, SignalHandlers handlers)
    : impl_(std::make_unique<Impl>(loop.context(), std::move(handlers))) {
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT(performance-no-int-to-ptr): the macro's own cast
    wait();
}

Signals::~Signals() = default;

void Signals::wait() {
    impl_->set.async_wait([this](const boost::system::error_code& error, int signal) {
        if (error) {
            return;  // cancelled by the destructor: nothing of `this` may be touched
        }
        wait();
        if (signal == SIGHUP) {
            impl_->handlers.on_reload();
        } else {
            impl_->handlers.on_stop(signal);
        }
    });
}

}  // namespace longhold::runtime
