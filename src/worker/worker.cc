// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/worker/worker.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "control.h"
#include "io_loop.h"

namespace longhold::worker {
namespace {

std::string state_of(const core::OwnSession& session) {
    switch (session.status()) {
        case core::OwnSession::Status::none:
        case core::OwnSession::Status::joining:
            return "joining";
        case core::OwnSession::Status::member:
            return session.draining() ? "draining" : "active";
        case core::OwnSession::Status::fencing:
            return "fencing";
        case core::OwnSession::Status::leaving:
            return "leaving";
        case core::OwnSession::Status::ended:
            return "ended";
    }
    std::unreachable();
}

}  // namespace

struct Worker::Impl {
    Impl(WorkerOptions worker_options, WorkerParts worker_parts)
        : options(std::move(worker_options)), parts(std::move(worker_parts)), control(options, parts, loops) {}

    void build_loops();
    void publish();

    WorkerOptions options;
    WorkerParts parts;
    std::vector<std::unique_ptr<IoLoop>> loops;
    Control control;
    std::vector<std::unique_ptr<runtime::Watch>> loop_watches;
};

void Worker::Impl::build_loops() {
    invariant(options.threads > 0, "a worker has at least one I/O thread");
    for (std::uint32_t i = 0; i < options.threads; ++i) {
        IoLoopOptions loop{.number = i,
                           .intake_bytes = options.intake_bytes / options.threads,
                           .attempts_at_once = std::max(1U, options.attempts_at_once / options.threads),
                           .backoff = options.backoff,
                           .seed = options.seed + i + 1};
        IoLoop::Reports reports{.closed = [this](core::Closed closed) {
            parts.control.post([this, closed = std::move(closed)]() mutable { control.closed(std::move(closed)); });
        }};
        loops.push_back(std::make_unique<IoLoop>(std::move(loop), parts.control.clock(), parts.sink, parts.sockets,
                                                 parts.log, parts.metrics, parts.resolve, std::move(reports)));
        loop_watches.push_back(parts.watchdog.watch_loop(loops.back()->loop(), i, options.stuck_after, [this, i] {
            parts.control.post([this, i] { control.loop_stuck(i); });
        }));
    }
}

Worker::Worker(WorkerOptions options, WorkerParts parts)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(parts))) {}

Worker::~Worker() = default;

runtime::Task<bool> Worker::start(Instant deadline) {
    impl_->build_loops();
    impl_->control.start();
    Control& control = impl_->control;
    co_return co_await control.wait_until([&control] { return control.engine().session().member(); }, deadline);
}

void Worker::take_hint(core::Hint hint) {
    impl_->control.step(core::Hinted{std::move(hint)});
}

void Worker::begin_drain() {
    impl_->control.step(core::BeginDrain{});
}

runtime::Task<std::size_t> Worker::hand_over(Instant deadline) {
    Control& control = impl_->control;
    co_await control.hand_over(deadline);
    const bool drained = co_await control.wait_until([&control] { return control.drained(); }, deadline);
    co_return drained ? control.lost_in_drain() : control.engine().held() + control.engine().releases_pending();
}

runtime::Task<bool> Worker::checkpoint(Instant deadline) {
    co_return co_await impl_->control.checkpoint(deadline);
}

runtime::Task<bool> Worker::leave(Instant deadline) {
    Control& control = impl_->control;
    control.stop_watching();
    impl_->parts.sockets.abort_all();
    control.step(core::EndSession{});
    co_await control.wait_until([&control] { return control.session_ended().has_value(); }, deadline);
    co_return control.session_ended().value_or(false);
}

runtime::Task<> Worker::stop() {
    impl_->control.stop_watching();
    impl_->loop_watches.clear();
    for (const auto& loop : impl_->loops) {
        loop->stop();
    }
    co_await impl_->control.stop();
    impl_->loops.clear();                           // joins the threads
    co_await runtime::yield(impl_->parts.control);  // what they posted here last runs before the worker goes
}

WorkerStatus Worker::status() const {
    const core::Engine& engine = impl_->control.engine();
    WorkerStatus status{.session = engine.session().id().text(),
                        .session_state = state_of(engine.session()),
                        .held = engine.held(),
                        .releases_pending = engine.releases_pending()};
    Instant oldest = Instant::max();
    for (const auto& loop : impl_->loops) {
        status.pending_records += loop->pending_records();
        status.pending_bytes += loop->pending_bytes();
        oldest = std::min(oldest, loop->pending_since());
    }
    if (oldest != Instant::max()) {
        status.pending_oldest_seconds =
            std::chrono::duration<double>(impl_->parts.control.clock().now() - oldest).count();
    }
    return status;
}

std::vector<const runtime::Loop*> Worker::loops() const {
    std::vector<const runtime::Loop*> all;
    for (const auto& loop : impl_->loops) {
        all.push_back(&loop->loop());
    }
    return all;
}

std::size_t Worker::peers() const {
    return impl_->control.engine().active_peers();
}

}  // namespace longhold::worker
