// SPDX-License-Identifier: Apache-2.0
#include "serve_process.h"

#include <longhold/config/connection_spec.h>
#include <longhold/runtime/host.h>

#include <csignal>
#include <utility>

#include "serve_options.h"
#include "serve_process_impl.h"

namespace longhold::app {

using namespace std::chrono_literals;

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
      admin(loop, health, metrics, [this] { before_metrics(); }),
      peers(loop, settings.peer.keys, metrics) {}

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
    if (const auto listening = process.peers.listen(process.settings.peer.listen); !listening) {
        process.log.error("the listener for hints cannot open", {{"reason", listening.error()}});
        process.main_tasks.spawn(process.close_listeners());
        process.loop.run();
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

}  // namespace longhold::app
