// SPDX-License-Identifier: Apache-2.0
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/thread.h>
#include <poll.h>

#include <cerrno>
#include <future>
#include <ostream>

#include "server.h"

namespace longhold::mock {
namespace {

constexpr double rate_max = 10'000'000;
constexpr std::size_t message_bytes_max = std::size_t{16} << 20U;

// One question to the server's thread, in a list that any thread may push on.
struct Question {
    std::string_view method;
    const Target& target;
    std::promise<ControlReply> reply;
    Question* next = nullptr;
};

}  // namespace

class MockUpstream::Impl {
public:
    Impl(MockOptions options, const runtime::Clock& clock) : options_(std::move(options)), server_(options_, clock) {}

    std::expected<void, std::string> start() {
        if (!(options_.rate >= 0 && options_.rate <= rate_max)) {
            return std::unexpected("the rate must be from 0 to 10,000,000 messages per second");
        }
        if (options_.message_bytes > message_bytes_max) {
            return std::unexpected("the message size must be at most 16 MiB");
        }
        if (auto listening = server_.listen(); !listening) {
            return listening;
        }
        thread_ = std::make_unique<runtime::Thread>("mock-upstream", [this] {
            server_.run(stopping_, [](void* self) { static_cast<Impl*>(self)->answer(); }, this);
        });
        return {};
    }

    void stop() {
        if (thread_) {
            stopping_.store(true, std::memory_order_release);
            server_.wake();
            thread_.reset();
            answer();
        }
    }

    ControlReply control(std::string_view method, std::string_view target_text) {
        const auto target = parse_target(target_text);
        if (!target) {
            return ControlReply{target.error().status, target.error().reason};
        }
        if (!thread_) {
            return server_.control(method, *target);
        }
        Question question{.method = method, .target = *target, .reply = {}, .next = nullptr};
        auto reply = question.reply.get_future();
        question.next = questions_.load(std::memory_order_relaxed);
        while (!questions_.compare_exchange_weak(question.next, &question, std::memory_order_release)) {
        }
        server_.wake();
        return reply.get();
    }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }

private:
    void answer() {
        Question* question = questions_.exchange(nullptr, std::memory_order_acquire);
        while (question != nullptr) {
            // The asker may destroy its question as soon as it has its answer.
            Question* const next = question->next;
            question->reply.set_value(server_.control(question->method, question->target));
            question = next;
        }
    }

    const MockOptions options_;
    Server server_;
    std::atomic<bool> stopping_{false};
    std::atomic<Question*> questions_{nullptr};
    std::unique_ptr<runtime::Thread> thread_;
};

MockUpstream::MockUpstream(MockOptions options, const runtime::Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), clock)) {}

MockUpstream::~MockUpstream() {
    stop();
}

std::expected<void, std::string> MockUpstream::start() {
    return impl_->start();
}

void MockUpstream::stop() {
    impl_->stop();
}

std::uint16_t MockUpstream::port() const {
    return impl_->port();
}

ControlReply MockUpstream::control(std::string_view method, std::string_view target) {
    return impl_->control(method, target);
}

int run_mock_upstream(const MockOptions& options, const runtime::Clock& clock, std::ostream& out, std::ostream& errors,
                      int stop_descriptor) {
    MockUpstream mock{options, clock};
    if (const auto started = mock.start(); !started) {
        errors << "mock-upstream: " << started.error() << std::endl;
        return 2;
    }
    out << "listening on " << options.address << ':' << mock.port() << std::endl;
    pollfd stop{.fd = stop_descriptor, .events = POLLIN, .revents = 0};
    while (::poll(&stop, 1, -1) < 0 && errno == EINTR) {
    }
    return 0;
}

}  // namespace longhold::mock
