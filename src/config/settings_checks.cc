// SPDX-License-Identifier: Apache-2.0
// What the values of several keys must keep together.
#include <longhold/base/duration_text.h>

#include <algorithm>
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
    void peers() const;
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
    const Duration within = settings.stop_within();
    if (!usable({"drain.balancer_wait", "drain.handover", "drain.flush", "drain.close", "drain.grace",
                 "lease.heartbeat_every"}) ||
        !drain.grace || *drain.grace >= within) {
        return;
    }
    report("drain.grace",
           "drain.grace is " + format_duration(*drain.grace) + ", less than the " + format_duration(within) +
               " that a stop may take: " + format_duration(settings.drain_wait()) +
               " (the longer of drain.balancer_wait and lease.heartbeat_every + " + format_duration(drain_seen_after) +
               ") + handover " + format_duration(drain.handover) + " + flush " + format_duration(drain.flush) +
               " + close " + format_duration(drain.close) + " + " + format_duration(drain_reserve) + " in reserve",
           "grant at least " + format_duration(within) + " (and tell the orchestrator), or lower the budgets");
}

void Checker::peers() const {
    const auto& peer = settings.peer;
    if (usable({"peer.keys", "peer.listen", "admin.listen"}) && !peer.keys.empty() &&
        peer.listen == settings.admin.listen && !peer.listen.ends_with(":0")) {
        report(written("peer.listen", "admin.listen"), "peer.listen and admin.listen are both " + peer.listen,
               "give one of them another port");
    }
}

void Checker::roles() const {
    if (usable({"roles"}) && settings.roles.empty()) {
        report("roles", "roles is empty, so that this process would do nothing", "use [\"worker\"]");
    }
}

}  // namespace

Duration Settings::drain_wait() const {
    return std::max(drain.balancer_wait, lease.heartbeat_every + drain_seen_after);
}

Duration Settings::stop_within() const {
    return drain_wait() + drain.handover + drain.flush + drain.close + drain_reserve;
}

void check_settings(const Settings& settings, const std::function<bool(std::string_view path)>& failed,
                    Problems& problems) {
    const Checker checker{settings, failed, problems};
    checker.roles();
    checker.lease();
    checker.dial();
    checker.drain();
    checker.peers();
}

}  // namespace longhold::config
