// SPDX-License-Identifier: Apache-2.0
// The start of a serving process: store, sink, session, one after the other; and the whole of its life in serve().
#include <longhold/lifecycle/background.h>
#include <longhold/sink/open.h>
#include <longhold/store/open.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "blocking.h"
#include "serve_options.h"
#include "serve_process_impl.h"

namespace longhold::app {
namespace {

using namespace std::chrono_literals;

constexpr Duration start_step_within = 20s;
constexpr int start_steps = 3;
constexpr Duration check_every = 2s;
constexpr Duration check_within = 2s;
constexpr Duration write_failure_every = 5s;

}  // namespace

runtime::Task<> ServeProcess::Impl::serve() {
    arm_last_resort(clock.now() + start_steps * start_step_within);
    add_dependencies();
    const auto started = co_await start();
    if (!stopping) {
        last_resort.reset();
    }
    if (started && !*started) {
        exit_code = failed ? exit_failed : exit_code == 0 ? exit_failed : exit_code;
    }
    while (started && *started && !stopping) {
        co_await stop_wanted.wait();
    }
    const int stopped = co_await stop();
    exit_code = std::max({exit_code, stopped, failed ? exit_failed : 0});
    log.info("stopped", {{"exit_code", exit_code}});
    signals.reset();
    loop.finish();
}

// `started` outlives it.
runtime::Task<> ServeProcess::Impl::run_start_steps(std::optional<Started>& started) {
    struct Over {
        runtime::Event& told;
        bool& over;

        ~Over() {
            over = true;
            told.notify();
        }
    } const over{stop_wanted, start_over};

    std::vector<lifecycle::StartStep> steps;
    steps.push_back({"store", start_step_within, [this](Instant deadline) { return open_store(deadline); }});
    steps.push_back({"sink", start_step_within, [this](Instant deadline) { return open_sink(deadline); }});
    steps.push_back({"session", start_step_within, [this](Instant deadline) { return join(deadline); }});
    auto outcome = co_await lifecycle::run_start(loop, log, std::move(steps), [this] { began(); });
    started = std::move(outcome);
}

// Nothing when the process was asked to stop before the start was through.
runtime::Task<std::optional<ServeProcess::Impl::Started>> ServeProcess::Impl::start() {
    std::optional<Started> started;
    runtime::TaskGroup group{loop};
    group.spawn(run_start_steps(started));
    while (!start_over && !stopping) {
        co_await stop_wanted.wait();
    }
    group.stop();
    if (stopping) {
        start_given_up->store(true);  // after the tasks: what the thread answers then finds nobody
    }
    co_await group.join();
    co_return started;
}

void ServeProcess::Impl::add_dependencies() {
    health.watch_loop("control", loop);
    const auto store_added = health.add_dependency({.name = "store",
                                                    .hard = true,
                                                    .on_failure = lifecycle::OnFailure::closed,
                                                    .metric = "longhold_store_requests_total",
                                                    .alert = "LongholdStoreUnavailable"});
    const auto sink_added = health.add_dependency({.name = "sink",
                                                   .hard = false,
                                                   .on_failure = lifecycle::OnFailure::closed,
                                                   .metric = "longhold_sink_stuck",
                                                   .alert = "LongholdSinkStuck"});
    if (!store_added || !sink_added) {
        fail("a dependency does not declare all that it must");
    }
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::open_store(Instant /*deadline*/) {
    store::StoreOptions options{.url = settings.store.url, .ns = settings.store.name_space};
    options.on_write_failure = [this](const store::Error& error) { tell_write_failure(error); };
    options.given_up = start_given_up;
    auto opened = co_await run_blocking<store::Result<std::unique_ptr<store::Store>>>(
        loop, [this, options] { return store::open_store(options, loop); });
    if (!opened) {
        exit_code = opened.error().code == store::Errc::unavailable ? exit_failed : exit_usage;
        co_return std::unexpected(opened.error().detail);
    }
    store = std::move(*opened);
    auto second = co_await run_blocking<store::Result<std::unique_ptr<store::Store>>>(
        loop, [this, options] { return store::open_store(options, loop); });
    if (!second) {
        co_return std::unexpected(second.error().detail);
    }
    check_store_handle = std::move(*second);
    co_return lifecycle::StepResult{};
}

void ServeProcess::Impl::tell_write_failure(const store::Error& error) {
    ++write_failures;
    const Instant now = clock.now();
    if (now >= write_failure_told + write_failure_every) {
        log.warning("writes to the store have unknown outcomes",
                    {{"count", std::exchange(write_failures, 0)}, {"last_reason", error.detail}});
        write_failure_told = now;
    }
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::open_sink(Instant /*deadline*/) {
    auto opened = co_await run_blocking<sink::Result<std::unique_ptr<sink::Sink>>>(
        loop, [this] { return sink::open_sink(sink_options(settings), clock, log); });
    if (!opened) {
        exit_code = opened.error().code == sink::Errc::invalid ? exit_usage : exit_failed;
        co_return std::unexpected(opened.error().detail);
    }
    sink = std::move(*opened);
    co_return lifecycle::StepResult{};
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::join(Instant deadline) {
    const auto info = co_await store->info(deadline);
    if (!info) {
        co_return std::unexpected(info.error().detail);
    }
    const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
    auto options = worker_options(settings, worker_id, version, info->buckets, cores, random.next());
    options.engine.capacity = capacity;
    options.engine.address = peers.address(settings.peer.advertise);
    worker = std::make_unique<worker::Worker>(
        std::move(options),
        worker::WorkerParts{
            .control = loop,
            .store = *store,
            .sink = *sink,
            .sockets = sockets,
            .watchdog = watchdog,
            .log = log,
            .metrics = metrics,
            .resolve = [this](const std::string& spec) { return resolve(spec); },
            .on_drain_asked = [this] { ask_to_stop("an operator's drain request"); },
            .on_failed = [this](const std::string& why) { fail(why); },
            .tell_peer = [this](const SessionId& from, core::TellPeer what) { peers.tell(from, std::move(what)); }});
    peers.begin([this] { return SessionId{worker->status().session}; },
                [this](core::Hint hint) { worker->take_hint(std::move(hint)); });
    const bool joined = co_await worker->start(deadline);
    if (!joined) {
        co_return std::unexpected("the session could not be joined in time; the store does not take writes");
    }
    std::size_t number = 0;
    for (const auto* io : worker->loops()) {
        health.watch_loop("io-" + std::to_string(number++), *io);
    }
    co_return lifecycle::StepResult{};
}

void ServeProcess::Impl::began() {
    health.enter(lifecycle::ProcessState::ready);
    metrics.gauge("longhold_build_info", {{"version", version}}).set(1);
    background.spawn(lifecycle::check_dependency(
        loop, health, log, "store", [this](Instant deadline) { return check_store(deadline); }, check_every,
        check_within));
    background.spawn(lifecycle::check_dependency(
        loop, health, log, "sink", [this](Instant deadline) { return check_sink(deadline); }, check_every,
        check_within));
    background.spawn(lifecycle::feed_service_watchdog(loop, health, notifier, log, check_every));
    if (const auto told = notifier.ready(); !told) {
        log.warning("the service manager cannot be told", {{"reason", told.error()}});
    }
    log.info("ready", {{"worker", worker_id}, {"session", worker->status().session}});
}

runtime::Task<lifecycle::DependencyResult> ServeProcess::Impl::check_store(Instant deadline) {
    const auto info = co_await check_store_handle->info(deadline);
    if (!info) {
        co_return std::unexpected(info.error().detail);
    }
    co_return lifecycle::DependencyResult{};
}

runtime::Task<lifecycle::DependencyResult> ServeProcess::Impl::check_sink(Instant /*deadline*/) {
    const auto state = sink->health();
    if (state.stuck) {
        health.set_degraded("sink_stuck", state.reason);
        co_return std::unexpected(state.reason);
    }
    health.clear_degraded("sink_stuck");
    co_return lifecycle::DependencyResult{};
}

}  // namespace longhold::app
