// SPDX-License-Identifier: Apache-2.0
// Health: what a process says about itself to orchestrators, balancers and people.
//
//   livez     should it be restarted?       only whether its loops tick; nothing outside the process
//   startupz  has it finished starting?     once yes, always yes
//   readyz    should it be given work now?  started, not draining, and no hard dependency down for longer than
//   `fail_after` health    everything, for people and alerts
//
// Thread-safety: none; lives on the admin listener's loop. Loop::post() facts from other threads to it.
#pragma once

#include <longhold/base/random.h>
#include <longhold/base/time.h>
#include <longhold/runtime/loop.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::lifecycle {

// Only forward: starting → ready → draining → stopped, and from each straight to a later one.
enum class ProcessState : std::uint8_t { starting, ready, draining, stopped };
[[nodiscard]] std::string_view state_name(ProcessState state);

// What happens to work while a dependency is down.
enum class OnFailure : std::uint8_t {
    closed,    // refused
    open,      // done without it
    fallback,  // done by something else
    spill,     // kept locally until it is back
};
[[nodiscard]] std::string_view on_failure_name(OnFailure choice);

// Something outside the process that it needs. Every field is required.
struct Dependency {
    std::string name;
    bool hard = true;  // whether readyz turns when it is down
    OnFailure on_failure = OnFailure::closed;
    std::string metric;  // the metric that shows it
    std::string alert;   // the alert that watches that metric
};

// The last check of a dependency: nothing, or a sentence that says what is wrong.
using DependencyResult = std::expected<void, std::string>;

struct Pending {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    Duration oldest{};
};

struct EventCounts {
    std::uint64_t waiting = 0;
    std::uint64_t failed = 0;
};

// Where the health document's numbers come from. Each is called for each document, on the admin loop, and returns at
// once; an empty one leaves its part out, but `pending`, which is then zero because nothing is received.
struct HealthSources {
    std::function<Pending()> pending{};
    std::function<EventCounts()> events{};          // with the api role
    std::function<std::uint64_t()> dead_letters{};  // with the api role
    std::function<std::string()> session{};         // the worker's current session; an empty text is none
    std::function<std::uint64_t()> connections{};   // held right now
    // Modes of working with less that others keep, and why; shown with those of set_degraded().
    std::function<std::map<std::string, std::string>()> degraded{};
};

struct HealthSettings {
    std::string version{};
    std::vector<std::string> roles{};
    std::string worker{};  // may be empty: no worker role
    // How long a hard dependency may be down before readyz turns; each replica adds up to half of it, so that a short
    // outage does not empty a balancer's whole backend at one instant.
    Duration fail_after = std::chrono::seconds{10};
    // A loop that has not ticked for so long is dead.
    Duration tick_within = std::chrono::seconds{10};
};

// An answer for a probe.
struct Verdict {
    bool good = false;
    std::vector<std::string> reasons{};  // why not, as sentences
};

class Health {
public:
    // `random` is drawn from once.
    Health(HealthSettings settings, HealthSources sources, Random& random);
    Health(const Health&) = delete;
    Health& operator=(const Health&) = delete;

    // A step backward is ignored: a process that drains never becomes ready again.
    void enter(ProcessState state);

    [[nodiscard]] ProcessState state() const { return state_; }

    // `loop` outlives this object.
    void watch_loop(std::string name, const runtime::Loop& loop);

    // Errors: a sentence that names the dependency and what it does not declare, or that it is there already.
    [[nodiscard]] std::expected<void, std::string> add_dependency(Dependency dependency);
    // Takes in a check's result. Requires a dependency that was added.
    void checked(std::string_view dependency, DependencyResult result, Instant now);

    // A mode of working with less, such as "spill", and why; shown until it is cleared.
    void set_degraded(std::string mode, std::string reason);
    void clear_degraded(std::string_view mode);

    [[nodiscard]] Verdict livez(Instant now) const;
    [[nodiscard]] Verdict startupz() const;
    [[nodiscard]] Verdict readyz(Instant now) const;
    // JSON.
    [[nodiscard]] std::string document(Instant now) const;

    // `fail_after` with this replica's share on top.
    [[nodiscard]] Duration fail_after() const { return fail_after_; }

private:
    struct Checked {
        Dependency dependency;
        std::optional<Instant> down_since{};
        std::string reason{};
        bool known = false;
    };

    struct WatchedLoop {
        std::string name;
        const runtime::Loop* loop;
    };

    HealthSettings settings_;
    HealthSources sources_;
    Duration fail_after_;
    ProcessState state_ = ProcessState::starting;
    bool started_ = false;
    std::vector<WatchedLoop> loops_;
    std::map<std::string, Checked, std::less<>> dependencies_;
    std::map<std::string, std::string, std::less<>> degraded_;
};

}  // namespace longhold::lifecycle
