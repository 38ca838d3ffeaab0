// SPDX-License-Identifier: Apache-2.0
#include "quickstart_run.h"

#include <longhold/base/duration_text.h>
#include <longhold/base/json_text.h>
#include <longhold/runtime/random_seed.h>
#include <longhold/store/admin.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

namespace longhold::fleet {
namespace {

using namespace std::chrono_literals;

constexpr Duration start_within = 20s;
constexpr std::string_view key_file_name = "peer.key";
constexpr Duration drain_within = 60s;
constexpr Duration store_within = 5s;

mock::MockOptions mock_options(const QuickstartOptions& options) {
    mock::MockOptions mock;
    mock.rate = options.rate;
    mock.all_from_start = true;
    return mock;
}

std::int64_t micros(WallTime time) {
    return time.time_since_epoch().count();
}

}  // namespace

bool all_have_looked(const std::map<std::string, std::uint64_t>& counters, const SessionsByWorker& sessions) {
    return std::ranges::all_of(counters, [&sessions](const auto& before) {
        const auto session = sessions.find(before.first);
        return session == sessions.end() || core::is_final(session->second.state) ||
               session->second.counter > before.second + 1;
    });
}

QuickstartRun::QuickstartRun(const QuickstartOptions& options, const runtime::Clock& clock, runtime::Loop& loop,
                             const QuickstartReports& reports)
    : options_(options),
      clock_(clock),
      loop_(loop),
      reports_(reports),
      began_(clock.now()),
      upstream_(mock_options(options), clock) {}

QuickstartRun::~QuickstartRun() = default;

void QuickstartRun::begin_stage(const std::string& stage) {
    stage_ = stage;
    if (reports_.stage) {
        reports_.stage(stage);
    }
}

std::string QuickstartRun::id_of(std::uint32_t number) const {
    std::string digits = std::to_string(number);
    const std::size_t width = std::to_string(options_.connections).size();
    digits.insert(0, width - std::min(width, digits.size()), '0');
    return "c-" + digits;
}

runtime::Task<std::expected<ProofResult, std::string>> QuickstartRun::run() {
    auto result = co_await guarded_stages();
    workers_.clear();  // whatever still runs ends here
    upstream_.stop();
    std::expected<ProofResult, std::string> proof = std::unexpected(std::string{});
    if (result) {
        proof = guarded_prove();
    } else {
        proof = std::unexpected(stage_ + ": " + (interrupted_ ? std::string{interruption} : result.error()));
    }
    store_.reset();
    const auto removed =
        store::admin::remove_namespace({.url = options_.store_url, .ns = options_.name_space}, true, clock_);
    if (!removed) {
        const std::string left = "removing the namespace " + options_.name_space + ": " + removed.error().detail;
        co_return std::unexpected(proof ? left : proof.error() + "; " + left);
    }
    co_return proof;
}

bool QuickstartRun::interrupted() {
    pollfd stop{.fd = options_.stop_descriptor, .events = POLLIN, .revents = 0};
    interrupted_ = interrupted_ || ::poll(&stop, 1, 0) > 0;  // a negative descriptor is never ready
    return interrupted_;
}

runtime::Task<StageResult> QuickstartRun::guarded_stages() {
    try {
        co_return co_await stages();
    } catch (const std::exception& failure) {
        co_return std::unexpected(std::string{"it threw: "} + failure.what());
    }
}

std::expected<ProofResult, std::string> QuickstartRun::guarded_prove() {
    try {
        return prove();
    } catch (const std::exception& failure) {
        return std::unexpected(std::string{"judging threw: "} + failure.what());
    }
}

runtime::Task<StageResult> QuickstartRun::stages() {
    // Two thirds of the load run before, between and after the two harms; what recovery takes comes on top.
    const Duration share = std::max<Duration>(options_.duration / 3, 3s);
    if (auto opened = open(); !opened) {
        co_return opened;
    }
    begin_stage("starting " + std::to_string(options_.workers) + " workers");
    auto done = co_await start_workers(options_.workers);
    if (done) {
        begin_stage("putting " + std::to_string(options_.connections) + " connections");
        done = co_await put_connections();
    }
    if (done) {
        begin_stage("delivering");
        done = co_await deliver(share);
    }
    if (done) {
        done = co_await kill_one();
    }
    if (done) {
        begin_stage("delivering");
        done = co_await deliver(share);
    }
    if (done) {
        done = co_await drain_one();
    }
    if (done) {
        begin_stage("delivering");
        done = co_await deliver(share);
    }
    if (done) {
        begin_stage("stopping the load");
        done = co_await stop_load();
    }
    if (done) {
        begin_stage("stopping the workers");
        done = co_await stop_workers();
    }
    begin_stage(done ? "judging" : stage_);
    co_return done;
}

StageResult QuickstartRun::open() {
    begin_stage("opening");
    if (auto started = upstream_.start(); !started) {
        return started;
    }
    auto store = store::open_store({.url = options_.store_url, .ns = options_.name_space}, loop_);
    if (!store) {
        return std::unexpected(store.error().detail);
    }
    store_ = std::move(*store);
    return write_secret(std::string{key_file_name}, runtime::fresh_id());
}

StageResult QuickstartRun::start_worker(const std::string& name) {
    std::vector<std::string> words{options_.program, "serve"};
    const auto set = [&words](const std::string& setting) {
        words.emplace_back("--set");
        words.push_back(setting);
    };
    set("store.url=" + options_.store_url);
    set("store.namespace=" + options_.name_space);
    set("worker.id=" + name);
    set("sinks.main.url=ndjson:" + path("messages/"));
    set("admin.listen=127.0.0.1:0");
    set("peer.listen=127.0.0.1:0");
    set("peer.keys=${file:" + path(std::string{key_file_name}) + "}");
    set("lease.duration=" + format_duration(options_.lease));
    set("lease.heartbeat_every=" + format_duration(options_.lease / 3));
    auto process = ChildProcess::start(words, path(name + ".log"));
    if (!process) {
        return std::unexpected(process.error());
    }
    workers_.push_back(Worker{.name = name, .process = std::move(*process)});
    return {};
}

runtime::Task<StageResult> QuickstartRun::start_workers(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        if (interrupted()) {
            co_return std::unexpected(std::string{interruption});
        }
        if (auto started = start_worker("w" + std::to_string(++workers_started_)); !started) {
            co_return started;
        }
    }
    auto joined = co_await wait_for("every worker has joined", start_within, [this] {
        return std::ranges::all_of(workers_, [this](const Worker& worker) {
            const auto session = sessions_.find(worker.name);
            return !worker.told.empty() ||
                   (session != sessions_.end() && session->second.state == core::SessionState::active);
        });
    });
    if (!joined) {
        co_return joined;
    }
    // A worker that has beaten since the last one joined has looked, and knows it.
    std::map<std::string, std::uint64_t> counters;
    for (const auto& [name, session] : sessions_) {
        counters[name] = session.counter;
    }
    co_return co_await wait_for("every worker has seen the others", start_within,
                                [this, counters] { return all_have_looked(counters, sessions_); });
}

runtime::Task<StageResult> QuickstartRun::put_connections() {
    for (std::uint32_t i = 1; i <= options_.connections; ++i) {
        if (interrupted()) {
            co_return std::unexpected(std::string{interruption});
        }
        store::PutConnection put;
        put.id = ConnectionId{id_of(i)};
        put.labels = {{"made-by", "quickstart"}};
        JsonWriter spec;
        spec.begin_object();
        spec.key("profile").value("plain");
        spec.key("resume").begin_object().key("query").value("cursor").end_object();
        spec.key("sequence").begin_object().key("field").value("/seq").key("first").value(1).end_object();
        spec.key("url").value("ws://127.0.0.1:" + std::to_string(upstream_.port()) + "/feed/" + put.id.text());
        put.spec = spec.end_object().take();
        const auto done = co_await store_->put_connection(std::move(put), clock_.now() + store_within);
        if (done.verdict != core::Verdict::done) {
            co_return std::unexpected("the connection " + id_of(i) + " could not be put");
        }
    }
    co_return co_await wait_for("every connection is held", options_.lease + 10s,
                                [this] { return every_connection_is_held(); });
}

bool QuickstartRun::every_connection_is_held() const {
    return live_.size() == options_.connections &&
           std::ranges::all_of(rows_, [](const core::ConnectionRow& row) { return row.owner.is_session(); });
}

runtime::Task<StageResult> QuickstartRun::deliver(Duration how_long) {
    const Instant until = clock_.now() + how_long;
    co_return co_await wait_for("the load has run", how_long + 30s, [this, until] { return clock_.now() >= until; });
}

std::uint64_t QuickstartRun::held_by(const std::string& worker) const {
    const auto session = sessions_.find(worker);
    if (session == sessions_.end()) {
        return 0;
    }
    return static_cast<std::uint64_t>(
        std::ranges::count_if(rows_, [&](const core::ConnectionRow& row) { return row.owner.is(session->second.id); }));
}

QuickstartRun::Worker* QuickstartRun::busiest() {
    Worker* best = nullptr;
    for (auto& worker : workers_) {
        if (worker.told.empty() && (best == nullptr || held_by(worker.name) > held_by(best->name))) {
            best = &worker;
        }
    }
    return best;
}

runtime::Task<StageResult> QuickstartRun::note_harm(HarmKind kind, const Worker& worker) {
    auto looked = co_await look();
    if (!looked) {
        co_return looked;
    }
    const auto session = sessions_.find(worker.name);
    if (session == sessions_.end()) {
        co_return std::unexpected(worker.name + " has no session");
    }
    Harm harm{.kind = kind, .worker = worker.name, .session = session->second.id.text()};
    for (const auto& row : rows_) {
        if (row.owner.is(session->second.id)) {
            harm.connections.push_back(row.id.text());
        }
    }
    harm.at_us = micros(clock_.wall_now());
    events_.harms.push_back(std::move(harm));
    co_return StageResult{};
}

runtime::Task<StageResult> QuickstartRun::kill_one() {
    Worker* const victim = busiest();
    begin_stage(victim->name + " killed with -9: waiting until others hold its connections");
    auto noted = co_await note_harm(HarmKind::kill, *victim);
    if (!noted) {
        co_return noted;
    }
    victim->process->send(SIGKILL);
    victim->told = "killed";
    const SessionId dead{events_.harms.back().session};
    co_return co_await wait_for("others hold its connections", 3 * options_.lease + 10s, [this, dead] {
        return every_connection_is_held() &&
               std::ranges::none_of(rows_, [&](const core::ConnectionRow& row) { return row.owner.is(dead); });
    });
}

runtime::Task<StageResult> QuickstartRun::drain_one() {
    begin_stage("starting a replacement");
    auto started = co_await start_workers(1);
    if (!started) {
        co_return started;
    }
    const std::string name = busiest()->name;
    const auto worker = std::ranges::find(workers_, name, &Worker::name);
    begin_stage(name + " drained with SIGTERM: waiting until others hold its connections");
    auto noted = co_await note_harm(HarmKind::drain, *worker);
    if (!noted) {
        co_return noted;
    }
    worker->process->send(SIGTERM);
    worker->told = "drained";
    const SessionId leaving{events_.harms.back().session};
    auto handed =
        co_await wait_for("it has exited and others hold its connections", drain_within, [this, leaving, name] {
            const auto drained = std::ranges::find(workers_, name, &Worker::name);
            return drained->process->end() && every_connection_is_held() &&
                   std::ranges::none_of(rows_, [&](const core::ConnectionRow& row) { return row.owner.is(leaving); });
        });
    if (!handed) {
        co_return handed;
    }
    const auto ended = std::ranges::find(workers_, name, &Worker::name)->process->end();
    if (ended->exit_code != 0) {
        co_return std::unexpected(name + " did not exit with 0; see " + path(name + ".log"));
    }
    co_return StageResult{};
}

runtime::Task<StageResult> QuickstartRun::stop_load() {
    auto looked = co_await look();
    if (!looked) {
        co_return looked;
    }
    const auto oracle = parse_oracle(oracle_json_);
    if (!oracle) {
        co_return std::unexpected(oracle.error());
    }
    events_.stop = Stop{.at_us = micros(clock_.wall_now()), .heads = heads_of(*oracle)};
    for (std::uint32_t i = 1; i <= options_.connections; ++i) {
        if (interrupted()) {
            co_return std::unexpected(std::string{interruption});
        }
        const auto done = co_await store_->set_desired(ConnectionId{id_of(i)}, core::DesiredState::stopped,
                                                       clock_.now() + store_within);
        if (done.verdict != core::Verdict::done) {
            co_return std::unexpected("the connection " + id_of(i) + " could not be stopped");
        }
    }
    co_return co_await wait_for("every connection is closed and released", 30s, [this] {
        return live_.empty() &&
               std::ranges::none_of(rows_, [](const core::ConnectionRow& row) { return row.owner.is_session(); });
    });
}

runtime::Task<StageResult> QuickstartRun::stop_workers() {
    for (auto& worker : workers_) {
        if (worker.told.empty()) {
            worker.told = "stopped";
            worker.process->send(SIGTERM);
        }
    }
    auto stopped = co_await wait_for("every worker has exited", drain_within, [this] {
        return std::ranges::all_of(workers_, [](Worker& worker) { return worker.process->end().has_value(); });
    });
    if (!stopped) {
        co_return stopped;
    }
    for (auto& worker : workers_) {
        if (worker.told == "stopped" && worker.process->end()->exit_code != 0) {
            co_return std::unexpected(worker.name + " did not exit with 0; see " + path(worker.name + ".log"));
        }
    }
    co_return StageResult{};
}

}  // namespace longhold::fleet
