// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/base/json_text.h>
#include <longhold/lifecycle/health.h>
#include <longhold/telemetry/valid_utf8.h>

#include <algorithm>

namespace longhold::lifecycle {
namespace {

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// For people: no finer than a millisecond.
std::string about(Duration duration) {
    return format_duration(std::chrono::floor<std::chrono::milliseconds>(duration));
}

}  // namespace

std::string_view state_name(ProcessState state) {
    switch (state) {
        case ProcessState::starting:
            return "starting";
        case ProcessState::ready:
            return "ready";
        case ProcessState::draining:
            return "draining";
        case ProcessState::stopped:
            return "stopped";
    }
    return "stopped";
}

std::string_view on_failure_name(OnFailure choice) {
    switch (choice) {
        case OnFailure::closed:
            return "closed";
        case OnFailure::open:
            return "open";
        case OnFailure::fallback:
            return "fallback";
        case OnFailure::spill:
            return "spill";
    }
    return "closed";
}

Health::Health(HealthSettings settings, HealthSources sources, Random& random)
    : settings_(std::move(settings)),
      sources_(std::move(sources)),
      fail_after_(settings_.fail_after + scale(settings_.fail_after, random.unit() / 2)) {}

void Health::enter(ProcessState state) {
    state_ = std::max(state_, state);
    started_ = started_ || state_ == ProcessState::ready;
}

void Health::watch_loop(std::string name, const runtime::Loop& loop) {
    loops_.push_back(WatchedLoop{std::move(name), &loop});
}

std::expected<void, std::string> Health::add_dependency(Dependency dependency) {
    const auto refused = [&dependency](std::string_view what) {
        return std::unexpected("dependency \"" + dependency.name + "\" " + std::string{what});
    };
    if (dependency.name.empty()) {
        return refused("has no name");
    }
    if (dependency.metric.empty()) {
        return refused("declares no metric that shows it");
    }
    if (dependency.alert.empty()) {
        return refused("declares no alert that watches its metric");
    }
    const std::string name = dependency.name;
    if (!dependencies_.try_emplace(name, Checked{dependency}).second) {
        return refused("is declared twice");
    }
    return {};
}

void Health::checked(std::string_view dependency, DependencyResult result, Instant now) {
    const auto found = dependencies_.find(dependency);
    invariant(found != dependencies_.end(), "a checked dependency was added");
    Checked& entry = found->second;
    entry.known = true;
    if (result) {
        entry.down_since.reset();
        entry.reason.clear();
        return;
    }
    entry.down_since = entry.down_since.value_or(now);
    entry.reason = std::move(result.error());
}

void Health::set_degraded(std::string mode, std::string reason) {
    degraded_.insert_or_assign(std::move(mode), std::move(reason));
}

void Health::clear_degraded(std::string_view mode) {
    if (const auto found = degraded_.find(mode); found != degraded_.end()) {
        degraded_.erase(found);
    }
}

Verdict Health::livez(Instant now) const {
    Verdict verdict;
    for (const auto& [name, loop] : loops_) {
        const Duration silent = now - loop->ticked_at();
        if (silent > settings_.tick_within) {
            verdict.reasons.push_back("loop " + name + " has not ticked for " + about(silent));
        }
    }
    verdict.good = verdict.reasons.empty();
    return verdict;
}

Verdict Health::startupz() const {
    return started_ ? Verdict{true} : Verdict{false, {"the start is not finished"}};
}

Verdict Health::readyz(Instant now) const {
    Verdict verdict;
    if (state_ != ProcessState::ready) {
        verdict.reasons.push_back("the process is " + std::string{state_name(state_)});
    }
    for (const auto& [name, entry] : dependencies_) {
        if (entry.dependency.hard && entry.down_since && now - *entry.down_since >= fail_after_) {
            verdict.reasons.push_back(name + " has been down for " + about(now - *entry.down_since) + ": " +
                                      entry.reason);
        }
    }
    verdict.good = verdict.reasons.empty();
    return verdict;
}

std::string Health::document(Instant now) const {
    JsonWriter json{2};
    const auto text = [&json](std::string_view key, std::string_view value) {
        json.key(key).value(telemetry::to_valid_utf8(value));
    };
    json.begin_object();
    text("state", state_name(state_));
    text("version", settings_.version);
    json.key("roles").begin_array();
    for (const std::string& role : settings_.roles) {
        json.value(role);
    }
    json.end_array();
    if (!settings_.worker.empty()) {
        text("worker", settings_.worker);
    }
    if (const std::string session = sources_.session ? sources_.session() : ""; !session.empty()) {
        text("session", session);
    }
    json.key("live").value(livez(now).good).key("ready").value(readyz(now).good);
    if (sources_.connections) {
        json.key("connections").value(sources_.connections());
    }
    const Pending pending = sources_.pending ? sources_.pending() : Pending{};
    json.key("pending").begin_object().key("records").value(pending.records).key("bytes").value(pending.bytes);
    json.key("oldest_seconds").value(seconds(pending.oldest)).end_object();
    if (sources_.events) {
        const EventCounts events = sources_.events();
        json.key("events").begin_object().key("waiting").value(events.waiting);
        json.key("failed").value(events.failed).end_object();
    }
    if (sources_.dead_letters) {
        json.key("dead_letters").value(sources_.dead_letters());
    }
    auto degraded = sources_.degraded ? sources_.degraded() : std::map<std::string, std::string>{};
    degraded.insert(degraded_.begin(), degraded_.end());
    json.key("degraded").begin_object();
    for (const auto& [mode, reason] : degraded) {
        text(mode, reason);
    }
    json.end_object().key("dependencies").begin_object();
    for (const auto& [name, entry] : dependencies_) {
        json.key(name).begin_object().key("up");
        entry.known ? json.value(!entry.down_since.has_value()) : json.null();
        json.key("hard").value(entry.dependency.hard);
        text("on_failure", on_failure_name(entry.dependency.on_failure));
        if (entry.down_since) {
            json.key("down_seconds").value(seconds(now - *entry.down_since));
            text("reason", entry.reason);
        }
        json.end_object();
    }
    json.end_object().end_object();
    return json.take() + "\n";
}

}  // namespace longhold::lifecycle
