// SPDX-License-Identifier: Apache-2.0
// What a serving process is made of. Its start is in serve_start.cc, its stop in serve_stop.cc, the rest in
// serve_process.cc.
//
// Thread-safety: lives on the control loop's thread; resolve() is called on any.
#pragma once

#include <longhold/lifecycle/admin_server.h>
#include <longhold/lifecycle/health.h>
#include <longhold/lifecycle/reload.h>
#include <longhold/lifecycle/start_sequence.h>
#include <longhold/lifecycle/stop_sequence.h>
#include <longhold/runtime/random_seed.h>
#include <longhold/runtime/service_notifier.h>
#include <longhold/runtime/signals.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/watchdog.h>
#include <longhold/sink/sink.h>
#include <longhold/store/store.h>
#include <longhold/worker/peer_link.h>
#include <longhold/worker/worker.h>

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve_process.h"

namespace longhold::app {

inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

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
    [[nodiscard]] std::expected<config::ResolvedProfile, std::string> resolve(const std::string& spec) const;
    void use_profiles(config::ProfileSet set);
    [[nodiscard]] std::map<std::string, std::string> degraded_modes();
    [[nodiscard]] std::expected<lifecycle::ReloadChange, std::string> validate_reload();
    void apply_reload(const config::Settings& fresh);
    void reload();
    void before_metrics();

    // ---- stop
    void begin_to_stop();
    void arm_last_resort(Instant due);
    void ask_to_stop(const std::string& why);
    void fail(const std::string& why);
    runtime::Task<int> stop();
    runtime::Task<> close_listeners();
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
    worker::PeerLink peers;
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

}  // namespace longhold::app
