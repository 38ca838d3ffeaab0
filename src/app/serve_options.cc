// SPDX-License-Identifier: Apache-2.0
#include "serve_options.h"

#include <longhold/runtime/event.h>

#include <algorithm>

namespace longhold::app {

using namespace std::chrono_literals;

telemetry::Level log_level(std::string_view text) {
    if (text == "debug") {
        return telemetry::Level::debug;
    }
    if (text == "warning") {
        return telemetry::Level::warning;
    }
    return text == "error" ? telemetry::Level::error : telemetry::Level::info;
}

telemetry::LogFormat log_format(std::string_view text) {
    return text == "json" ? telemetry::LogFormat::json : telemetry::LogFormat::text;
}

sink::SinkOptions sink_options(const config::Settings& settings) {
    const auto& main = settings.sinks.main;
    sink::SinkOptions options{.name = "main", .url = main.url};
    options.ndjson.fsync_every = main.fsync_every;
    options.ndjson.rotate_bytes = main.rotate_bytes.bytes;
    options.ndjson.rotate_every = main.rotate_every;
    return options;
}

worker::WorkerOptions worker_options(const config::Settings& settings, const std::string& worker_id,
                                     const std::string& version, std::uint32_t buckets, std::uint32_t cores,
                                     std::uint64_t seed) {
    worker::WorkerOptions options;
    auto& engine = options.engine;
    engine.worker = WorkerId{worker_id};
    engine.capacity = settings.worker.max_connections;
    engine.generation = settings.worker.generation;
    engine.version = version;
    engine.zone = settings.worker.zone;
    engine.lease = settings.lease.duration;
    engine.heartbeat_every = settings.lease.heartbeat_every;
    engine.drift_max = settings.lease.drift_max;
    engine.margin = settings.lease.margin;
    engine.stop_margin = settings.lease.stop_margin;
    engine.unowned_every = settings.reconcile.unowned_every;
    engine.owned_every = settings.reconcile.owned_every;
    engine.sweep_every = settings.reconcile.sweep_every;
    engine.page_size = settings.reconcile.page_size;
    engine.jitter = settings.reconcile.jitter;
    engine.buckets = buckets;
    options.threads = settings.worker.threads == 0 ? cores : settings.worker.threads;
    options.intake_bytes = settings.worker.intake_bytes.bytes;
    options.attempts_at_once = settings.dial.attempts_at_once;
    options.backoff.min = settings.dial.backoff_min;
    options.backoff.floor = std::min(options.backoff.floor, settings.dial.backoff_min);
    options.backoff.max = settings.dial.backoff_max;
    options.backoff.slow_min = std::min(options.backoff.slow_min, settings.dial.backoff_max);
    options.checkpoint_every = settings.sinks.main.checkpoint_every;
    options.tombstone_retention = settings.worker.tombstone_retention;
    options.seed = seed;
    return options;
}

std::vector<lifecycle::StopStepSpec> stop_step_specs(const config::Settings& settings, bool announced) {
    const auto& drain = settings.drain;
    return {
        {.name = "balancer_wait", .budget = announced ? settings.drain_wait() : drain.balancer_wait, .is_wait = true},
        {.name = "handover", .budget = drain.handover, .needs_session = true},
        {.name = "flush", .budget = drain.flush},
        {.name = "close", .budget = drain.close}};
}

std::expected<void, std::string> check_grace(const config::Settings& settings) {
    const auto& grace = settings.drain.grace;
    return grace ? lifecycle::check_grace(stop_step_specs(settings, true), *grace) : std::expected<void, std::string>{};
}

std::uint32_t connections_within(std::uint64_t descriptors, std::uint32_t wanted) {
    // Sockets that are closing beside those that are open, files, listeners, timers.
    constexpr std::uint64_t kept = 64;
    const std::uint64_t free = descriptors > 2 * kept ? descriptors - kept : descriptors / 2;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, free));
}

std::string notify_address(const config::Environment& environment) {
    const auto found = environment.find("NOTIFY_SOCKET");
    return found == environment.end() ? std::string{} : found->second;
}

std::string listen_host(std::string_view address) {
    return std::string{address.substr(0, address.rfind(':'))};
}

runtime::Task<lifecycle::StepResult> wait_until(runtime::Loop& loop, Instant deadline) {
    co_await runtime::sleep_until(loop, deadline);
    co_return lifecycle::StepResult{};
}

}  // namespace longhold::app
