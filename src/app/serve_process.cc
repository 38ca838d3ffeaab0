// SPDX-License-Identifier: Apache-2.0
#include "serve_process.h"

#include <longhold/config/connection_spec.h>
#include <longhold/lifecycle/admin_server.h>
#include <longhold/lifecycle/background.h>
#include <longhold/lifecycle/reload.h>
#include <longhold/lifecycle/start_sequence.h>
#include <longhold/lifecycle/stop_sequence.h>
#include <longhold/runtime/host.h>
#include <longhold/runtime/random_seed.h>
#include <longhold/runtime/service_notifier.h>
#include <longhold/runtime/signals.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/watchdog.h>
#include <longhold/sink/open.h>
#include <longhold/store/open.h>
#include <longhold/worker/worker.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "blocking.h"
#include "serve_options.h"

namespace longhold::app {
namespace {

using namespace std::chrono_literals;

constexpr Duration start_step_within = 20s;
constexpr int start_steps = 3;
constexpr Duration check_every = 2s;
constexpr Duration check_within = 2s;
constexpr Duration write_failure_every = 5s;
constexpr Duration last_resort_after = 10s;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

}  // namespace

struct ServeProcess::Impl {
    using Started = std::expected<void, lifecycle::StartFailure>;

    Impl(config::Settings loaded, config::ProfileSet loaded_profiles, Reload reload_settings, const Context& context);

    // ---- start
    void add_dependencies();
    runtime::Task<> serve();
    runtime::Task<> run_start_steps(std::optional<Started>& started);
    runtime::Task<std::optional<Started>> start();
    runtime::Task<lifecycle::StepResult> open_store(Instant deadline);
    runtime::Task<lifecycle::StepResult> open_sink(Instant deadline);
    runtime::Task<lifecycle::StepResult> join(Instant deadline);
    runtime::Task<lifecycle::DependencyResult> check_store(Instant deadline);
    runtime::Task<lifecycle::DependencyResult> check_sink(Instant deadline);
    void began();
    void tell_write_failure(const store::Error& error);

    // ---- while it runs
    std::expected<config::ResolvedProfile, std::string> resolve(const std::string& spec) const;
    void use_profiles(config::ProfileSet set);
    [[nodiscard]] std::map<std::string, std::string> degraded_modes();
    std::expected<lifecycle::ReloadChange, std::string> validate_reload();
    void apply_reload(const config::Settings& fresh);
    void reload();
    void before_metrics();

    // ---- stop
    void begin_to_stop();
    void arm_last_resort(Instant due);
    void ask_to_stop(const std::string& why);
    void fail(const std::string& why);
    runtime::Task<int> stop();
    std::vector<lifecycle::StopStep> stop_steps();
    runtime::Task<lifecycle::StepResult> hand_over(Instant deadline);
    runtime::Task<lifecycle::StepResult> flush(Instant deadline);
    runtime::Task<lifecycle::StepResult> leave(Instant deadline);

    config::Settings settings;
    // Asked for on every I/O thread, exchanged by a reload: whoever resolves keeps the set that it took for so long.
    // Every set that was ever current: I/O threads may be reading an earlier one. A reload adds one only when it
    // differs.
    std::list<config::ProfileSet> profile_sets;
    std::atomic<const config::ProfileSet*> profiles;
    Reload load_settings;
    config::ReferenceSources sources;
    std::string version;
    std::string worker_id;
    std::uint32_t capacity = 0;  // of connections, within the limit of descriptors

    runtime::SystemClock clock;
    telemetry::Log log;
    telemetry::Metrics metrics;
    Random random{runtime::random_seed()};
    runtime::Loop loop{clock};
    runtime::AbortTable sockets;
    runtime::Watchdog watchdog;
    runtime::ServiceNotifier notifier;
    std::unique_ptr<store::Store> store;
    std::unique_ptr<store::Store> check_store_handle;
    std::unique_ptr<sink::Sink> sink;
    std::unique_ptr<worker::Worker> worker;
    lifecycle::Health health;
    lifecycle::AdminServer admin;
    runtime::TaskGroup main_tasks{loop};
    runtime::TaskGroup background{loop};
    std::unique_ptr<runtime::Signals> signals;

    runtime::Event stop_wanted{loop};  // told also when the start is over
    bool start_over = false;
    bool stopping = false;
    // Tells the thread that opens the store, which may be waiting for a lock.
    std::shared_ptr<std::atomic<bool>> start_given_up = std::make_shared<std::atomic<bool>>(false);
    std::optional<Instant> stop_asked_at;  // every budget of the stop counts from here
    std::unique_ptr<runtime::Watch> last_resort;
    bool failed = false;
    std::unique_ptr<lifecycle::StopSequence> sequence;
    std::uint64_t write_failures = 0;  // since the last was told
    Instant write_failure_told{};
    int exit_code = 0;
};

ServeProcess::Impl::Impl(config::Settings loaded, config::ProfileSet loaded_profiles, Reload reload_settings,
                         const Context& context)
    : settings(std::move(loaded)),
      profile_sets{std::move(loaded_profiles)},
      profiles(&profile_sets.back()),
      load_settings(std::move(reload_settings)),
      sources{context.environment, config::read_regular_file},
      version(context.build.version),
      worker_id(settings.worker.id.empty() ? runtime::host_name() + "-" + std::to_string(runtime::process_id())
                                           : settings.worker.id),
      log(log_level(settings.log.level), log_format(settings.log.format)),
      sockets(settings.worker.max_connections + 1'024UL),
      watchdog(
          clock, sockets,
          {.on_pause =
               [this](runtime::Pause pause) {
                   const bool late = pause.kind == runtime::Pause::Kind::late_wake;
                   metrics.counter("longhold_pauses_total", {{"kind", late ? "late_wake" : "clocks_diverged"}}).add();
                   log.warning(late ? "the process stood still" : "the clocks moved apart", {{"for", pause.length}});
               }}),
      notifier(notify_address(context.environment)),
      health({.version = version, .roles = settings.roles, .worker = worker_id},
             {.pending =
                  [this] {
                      const auto status = worker ? worker->status() : worker::WorkerStatus{};
                      return lifecycle::Pending{.records = status.pending_records,
                                                .bytes = status.pending_bytes,
                                                .oldest = scale(1s, status.pending_oldest_seconds)};
                  },
              .session = [this] { return worker ? worker->status().session : std::string{}; },
              .connections = [this]() -> std::uint64_t { return worker ? worker->status().held : 0; },
              .degraded = [this] { return degraded_modes(); }},
             random),
      admin(loop, health, metrics, [this] { before_metrics(); }) {}

ServeProcess::ServeProcess(config::Settings settings, config::ProfileSet profiles, Reload load, const Context& context)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(profiles), std::move(load), context)) {}

ServeProcess::~ServeProcess() = default;

int ServeProcess::run() {
    Impl& process = *impl_;
    const auto limit = runtime::raise_descriptor_limit();
    process.capacity = connections_within(limit.now, process.settings.worker.max_connections);
    if (process.capacity < process.settings.worker.max_connections) {
        process.log.warning(
            "fewer descriptors than worker.max_connections needs: fewer connections are held; raise the hard limit",
            {{"limit", limit.now},
             {"max_connections", process.settings.worker.max_connections},
             {"holds_at_most", process.capacity}});
    }
    if (const auto enough = check_grace(process.settings); !enough) {
        process.log.error("cannot start", {{"reason", enough.error()}});
        return exit_usage;
    }
    if (const auto listening = process.admin.listen(process.settings.admin.listen); !listening) {
        process.log.error("the admin listener cannot open", {{"reason", listening.error()}});
        return exit_usage;
    }
    process.log.info("admin listener open", {{"address", listen_host(process.settings.admin.listen) + ":" +
                                                             std::to_string(process.admin.port())},
                                             {"worker", process.worker_id},
                                             {"pid", runtime::process_id()}});
    process.signals = std::make_unique<runtime::Signals>(
        process.loop,
        runtime::SignalHandlers{
            .on_stop = [&process](int signal) { process.ask_to_stop(signal == SIGTERM ? "SIGTERM" : "SIGINT"); },
            .on_reload = [&process] { process.reload(); }});
    process.main_tasks.spawn(process.serve());
    process.loop.run();
    return process.exit_code;
}

// ---- start --------------------------------------------------------------------------------------------------------

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
    worker = std::make_unique<worker::Worker>(
        std::move(options),
        worker::WorkerParts{.control = loop,
                            .store = *store,
                            .sink = *sink,
                            .sockets = sockets,
                            .watchdog = watchdog,
                            .log = log,
                            .metrics = metrics,
                            .resolve = [this](const std::string& spec) { return resolve(spec); },
                            .on_drain_asked = [this] { ask_to_stop("an operator's drain request"); },
                            .on_failed = [this](const std::string& why) { fail(why); }});
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

// ---- while it runs --------------------------------------------------------------------------------------------------

void ServeProcess::Impl::use_profiles(config::ProfileSet set) {
    if (set != profile_sets.back()) {
        profile_sets.push_back(std::move(set));
        profiles.store(&profile_sets.back(), std::memory_order_release);
    }
}

// On any thread.
std::expected<config::ResolvedProfile, std::string> ServeProcess::Impl::resolve(const std::string& spec) const {
    const auto parsed = config::parse_spec(spec, "spec");
    if (!parsed) {
        return std::unexpected(parsed.error().front().text());
    }
    auto resolved = config::resolve_profile(*parsed, *profiles.load(std::memory_order_acquire), sources, "spec");
    if (!resolved) {
        return std::unexpected(resolved.error().front().text());
    }
    return std::move(*resolved);
}

std::expected<lifecycle::ReloadChange, std::string> ServeProcess::Impl::validate_reload() {
    auto loaded = load_settings();
    if (!loaded) {
        return std::unexpected(loaded.error());
    }
    if (auto enough = check_grace(*loaded); !enough) {
        return std::unexpected(enough.error());
    }
    auto read = config::load_profiles(settings.profiles.directory);
    if (!read) {
        return std::unexpected(read.error().front().text());
    }
    const auto fresh = std::make_shared<const config::Settings>(std::move(*loaded));
    const auto set = std::make_shared<const config::ProfileSet>(std::move(*read));
    return lifecycle::ReloadChange{.apply =
                                       [this, fresh, set] {
                                           apply_reload(*fresh);
                                           use_profiles(*set);
                                       },
                                   .restart_needed = config::keys_needing_restart(settings, *fresh)};
}

void ServeProcess::Impl::apply_reload(const config::Settings& fresh) {
    log.set_level(log_level(fresh.log.level));
    settings.log.level = fresh.log.level;
    if (!stopping) {  // a stop goes by the budgets that it began with
        settings.drain = fresh.drain;
    }
}

void ServeProcess::Impl::reload() {
    lifecycle::reload({{.name = "settings", .validate = [this] { return validate_reload(); }}}, log);
}

std::map<std::string, std::string> ServeProcess::Impl::degraded_modes() {
    const auto is_on = [this](const std::string& mode) {
        return metrics.gauge("longhold_degraded", {{"mode", mode}}).value() > 0;
    };
    std::map<std::string, std::string> modes;
    if (is_on("checkpoint")) {
        modes.emplace("checkpoint", "the last write of cursors to the store did not succeed in time");
    }
    if (is_on("loop_stuck")) {
        modes.emplace("loop_stuck", "an I/O loop no longer ticks, and what it held was given up; restart the process");
    }
    return modes;
}

void ServeProcess::Impl::before_metrics() {
    if (!worker || !sink) {
        return;
    }
    const auto status = worker->status();
    metrics.gauge("longhold_pending_records").set(static_cast<double>(status.pending_records));
    metrics.gauge("longhold_pending_bytes").set(static_cast<double>(status.pending_bytes));
    metrics.gauge("longhold_pending_oldest_seconds").set(status.pending_oldest_seconds);
    metrics.gauge("longhold_sessions").set(static_cast<double>(worker->peers() + 1));
    const auto state = sink->health();
    metrics.gauge("longhold_sink_stuck").set(state.stuck ? 1 : 0);
    auto& dropped = metrics.counter("longhold_log_lines_dropped_total");
    dropped.add(log.dropped() - dropped.value());
    auto& batches = metrics.counter("longhold_sink_batches_total");
    batches.add(state.batches - batches.value());
    auto& failures = metrics.counter("longhold_sink_failures_total");
    failures.add(state.failures - failures.value());
}

// ---- stop -----------------------------------------------------------------------------------------------------------

void ServeProcess::Impl::begin_to_stop() {
    stopping = true;
    start_given_up->store(true);
    stop_asked_at = clock.now();
    arm_last_resort(lifecycle::StopPlan{stop_step_specs(settings, true), *stop_asked_at}.last_deadline());
    stop_wanted.notify();
}

// Ends the process some time after `due`, whatever its loops are doing: a thread that hangs in the kernel, on a mount
// that does not answer, cannot be ended in any other way.
void ServeProcess::Impl::arm_last_resort(Instant due) {
    last_resort = watchdog.call_at(due + last_resort_after, [] { std::_Exit(exit_failed); });
}

void ServeProcess::Impl::ask_to_stop(const std::string& why) {
    if (stopping) {
        log.warning("stopping already: waits are skipped now, flushes are not", {{"asked_by", why}});
        if (sequence) {
            sequence->hurry();
        }
        return;
    }
    log.info("stopping", {{"asked_by", why}});
    begin_to_stop();
}

void ServeProcess::Impl::fail(const std::string& why) {
    log.error("cannot go on", {{"reason", why}});
    failed = true;
    if (sequence) {
        sequence->lose_session();
    }
    if (!stopping) {
        begin_to_stop();
    }
}

runtime::Task<int> ServeProcess::Impl::stop() {
    if (!stopping) {
        begin_to_stop();
    }
    health.enter(lifecycle::ProcessState::draining);
    static_cast<void>(notifier.stopping());
    if (worker) {
        worker->begin_drain();
    }
    sequence = std::make_unique<lifecycle::StopSequence>(loop, log, stop_steps(), *stop_asked_at);
    if (failed) {
        sequence->lose_session();
    }
    const int code = co_await sequence->run();
    health.enter(lifecycle::ProcessState::stopped);
    background.stop();
    co_await background.join();
    co_await admin.close(clock.now() + 1s);
    store.reset();
    check_store_handle.reset();
    co_return code;
}

std::vector<lifecycle::StopStep> ServeProcess::Impl::stop_steps() {
    std::vector<lifecycle::StopStep> steps;
    if (!worker) {
        return steps;
    }
    const std::vector<lifecycle::StepWork> works{
        [this](Instant deadline) -> runtime::Task<lifecycle::StepResult> { return wait_until(loop, deadline); },
        [this](Instant deadline) { return hand_over(deadline); }, [this](Instant deadline) { return flush(deadline); },
        [this](Instant deadline) { return leave(deadline); }};
    auto specs = stop_step_specs(settings, worker->peers() > 0);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        steps.push_back({std::move(specs.at(i)), works.at(i)});
    }
    return steps;
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::hand_over(Instant deadline) {
    const std::size_t left = co_await worker->hand_over(deadline - 100ms);
    if (worker->status().session_state == "fencing") {
        co_return std::unexpected("the session was lost meanwhile; what it still held is left to fencing");
    }
    if (left > 0) {
        co_return std::unexpected(std::to_string(left) + " connections are not handed over; they are left to fencing");
    }
    co_return lifecycle::StepResult{};
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::flush(Instant deadline) {
    const bool written = co_await run_blocking<bool>(loop, [this, deadline] { return sink->close(deadline - 500ms); });
    bool kept = true;
    // A session past its deadline writes nothing more.
    if (!failed && worker->status().session_state == "draining") {
        kept = co_await worker->checkpoint(std::min(deadline, clock.now() + settings.drain.flush));
    }
    if (!written) {
        co_return std::unexpected(
            "the sink did not take everything in time; what it did not is asked for again by the next owner");
    }
    if (!kept) {
        co_return std::unexpected("the last cursors could not be written");
    }
    co_return lifecycle::StepResult{};
}

runtime::Task<lifecycle::StepResult> ServeProcess::Impl::leave(Instant deadline) {
    // What earlier steps left over is not spent here: a store that takes no writes would only hold the process up.
    const bool left = co_await worker->leave(std::min(deadline, clock.now() + settings.drain.close) - 200ms);
    co_await worker->stop();
    if (!left && !failed) {
        co_return std::unexpected("the session could not be ended in the store; it is left to fencing");
    }
    co_return lifecycle::StepResult{};
}

}  // namespace longhold::app
