// SPDX-License-Identifier: Apache-2.0
// What the values of several keys must keep together.
#include <longhold/base/duration_text.h>

#include <initializer_list>

#include "settings_keys.h"

namespace longhold::config {
namespace {

struct Checker {
    const Settings& settings;
    const std::function<bool(std::string_view path)>& failed;
    Problems& problems;

    [[nodiscard]] bool usable(std::initializer_list<std::string_view> paths) const {
        for (const auto path : paths) {
            if (failed(path)) {
                return false;
            }
        }
        return true;
    }

    void report(std::string_view path, std::string what, std::string remedy) const {
        const auto origin = settings.origins.find(path);
        problems.push_back({.what = std::move(what),
                            .where = origin == settings.origins.end() ? "default" : origin->second.place,
                            .remedy = std::move(remedy)});
    }

    // Blames the key that somebody wrote, rather than a default.
    [[nodiscard]] std::string_view written(std::string_view first, std::string_view second) const {
        const auto origin = settings.origins.find(first);
        const bool first_is_preset = origin == settings.origins.end() || origin->second.kind == OriginKind::preset;
        return first_is_preset ? second : first;
    }

    void lease() const;
    void dial() const;
    void drain() const;
    void roles() const;
};

void Checker::lease() const {
    const auto& lease = settings.lease;
    if (!usable({"lease.duration", "lease.heartbeat_every"})) {
        return;
    }
    if (lease.heartbeat_every * 3 > lease.duration) {
        report(written("lease.heartbeat_every", "lease.duration"),
               "lease.heartbeat_every is " + format_duration(lease.heartbeat_every) +
                   ", more than a third of lease.duration (" + format_duration(lease.duration) + ")",
               "use at most " + format_duration(std::chrono::floor<std::chrono::milliseconds>(lease.duration / 3)) +
                   ", or a lease of at least " + format_duration(lease.heartbeat_every * 3));
        return;
    }
    if (!usable({"lease.drift_max", "lease.stop_margin"})) {
        return;
    }
    const Duration acts = scale(lease.duration, 1 - lease.drift_max) - lease.stop_margin;
    const Duration needs = lease.heartbeat_every + lease.duration / 6;
    if (acts <= needs) {
        report(written("lease.stop_margin", written("lease.drift_max", "lease.duration")),
               "lease.duration × (1 - lease.drift_max) - lease.stop_margin is " + format_duration(acts) +
                   ", which leaves no time for a late heartbeat: it must be more than lease.heartbeat_every + "
                   "lease.duration / 6 = " +
                   format_duration(needs),
               "lengthen lease.duration, or lower lease.heartbeat_every, lease.stop_margin or lease.drift_max");
    }
}

void Checker::dial() const {
    const auto& dial = settings.dial;
    if (usable({"dial.backoff_min", "dial.backoff_max"}) && dial.backoff_min > dial.backoff_max) {
        report(written("dial.backoff_min", "dial.backoff_max"),
               "dial.backoff_min (" + format_duration(dial.backoff_min) + ") is above dial.backoff_max (" +
                   format_duration(dial.backoff_max) + ")",
               "lower the one or raise the other");
    }
}

void Checker::drain() const {
    const auto& drain = settings.drain;
    if (!usable(
            {"drain.balancer_wait", "drain.requests", "drain.handover", "drain.flush", "drain.close", "drain.grace"}) ||
        !drain.grace || *drain.grace >= drain.sum()) {
        return;
    }
    report("drain.grace",
           "drain.grace is " + format_duration(*drain.grace) + ", less than the " + format_duration(drain.sum()) +
               " that a stop may take: balancer_wait " + format_duration(drain.balancer_wait) + " + requests " +
               format_duration(drain.requests) + " + handover " + format_duration(drain.handover) + " + flush " +
               format_duration(drain.flush) + " + close " + format_duration(drain.close) + " + " +
               format_duration(drain_reserve) + " in reserve",
           "grant at least " + format_duration(drain.sum()) + " (and tell the orchestrator), or lower the budgets");
}

void Checker::roles() const {
    if (usable({"roles"}) && settings.roles.empty()) {
        report("roles", "roles is empty, so that this process would do nothing", "use [\"worker\"]");
    }
}

}  // namespace

Duration DrainSettings::sum() const {
    return balancer_wait + requests + handover + flush + close + drain_reserve;
}

void check_settings(const Settings& settings, const std::function<bool(std::string_view path)>& failed,
                    Problems& problems) {
    const Checker checker{settings, failed, problems};
    checker.roles();
    checker.lease();
    checker.dial();
    checker.drain();
}

}  // namespace longhold::config
