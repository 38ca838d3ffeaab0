// SPDX-License-Identifier: Apache-2.0
// Whole workers on one store in memory, each with its own sink, sockets and watchdog, as processes have them.
#pragma once

#include <gtest/gtest.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/watchdog.h>
#include <longhold/store/memory.h>
#include <longhold/worker/worker.h>
#include <simdjson.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "faulty_store.h"
#include "test_support.h"

namespace longhold::worker::test {

// A lease that a busy machine can keep; tests of its end take a shorter one.
[[nodiscard]] inline WorkerOptions worker_options(const std::string& name, Duration lease = 3s) {
    WorkerOptions options;
    auto& engine = options.engine;
    engine.worker = WorkerId{name};
    engine.lease = lease;
    engine.heartbeat_every = lease / 3;
    engine.margin = 20ms;
    engine.stop_margin = 50ms;
    engine.unowned_every = 50ms;
    engine.owned_every = 50ms;
    engine.sweep_every = 500ms;
    engine.look_every = 20ms;
    options.backoff.min = 20ms;
    options.backoff.floor = 5ms;
    options.backoff.max = 200ms;
    options.checkpoint_every = 50ms;
    options.seed = 7;
    return options;
}

class Node {
public:
    Node(ControlThread& control, std::shared_ptr<store::MemoryState> state, const runtime::Clock& clock,
         WorkerOptions options, SpecResolver resolve = spec_resolver())
        : control_(control),
          clock_(clock),
          memory_(control.on([&] { return store::open_memory_store(std::move(state), control.loop()); })),
          store(*memory_, control.loop()) {
        WorkerParts parts{.control = control.loop(),
                          .store = store,
                          .sink = sink,
                          .sockets = sockets,
                          .watchdog = watchdog_,
                          .log = log_.log(),
                          .metrics = metrics,
                          .resolve = std::move(resolve),
                          .on_drain_asked =
                              [this] {
                                  ++drains_asked;
                                  worker->begin_drain();
                              },
                          .on_failed = [this](const std::string&) { ++failures; }};
        control.on([&] { worker = std::make_unique<Worker>(std::move(options), std::move(parts)); });
    }

    ~Node() { end(); }

    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    bool start(Duration within = 10s) {
        started_ = true;
        return control_.await([&] { return worker->start(clock_.now() + within); });
    }

    std::size_t drain(Duration within = 20s) {
        control_.on([&] { worker->begin_drain(); });
        return control_.await([&] { return worker->hand_over(clock_.now() + within); });
    }

    bool leave(Duration within = 5s) {
        sink.close(clock_.now());
        return control_.await([&] { return worker->leave(clock_.now() + within); });
    }

    // As a process ends.
    void end() {
        if (!worker) {
            return;
        }
        sink.discard();
        if (started_) {
            control_.await([&] { return worker->stop(); });
        }
        control_.on([&] {
            worker.reset();
            memory_.reset();
        });
    }

    [[nodiscard]] WorkerStatus status() {
        return control_.on([&] { return worker->status(); });
    }

    [[nodiscard]] bool eventually_holds(std::uint32_t count, Duration longest = 10s) {
        return eventually([&] { return status().held == count; }, longest);
    }

    // Everything that is asked of the store fails so from now on.
    void fail_store(StoreFault fault) {
        control_.on([&] { store.fault = [fault](const std::string&) { return fault; }; });
    }

    void mend_store() {
        control_.on([&] { store.fault = {}; });
    }

private:
    ControlThread& control_;
    const runtime::Clock& clock_;
    QuietLog log_{clock_};
    bool started_ = false;
    std::unique_ptr<store::Store> memory_;

public:
    FakeSink sink{clock_};
    telemetry::Metrics metrics;
    runtime::AbortTable sockets{256};
    FaultyStore store;
    std::atomic<int> drains_asked = 0;
    std::atomic<int> failures = 0;

private:
    runtime::Watchdog watchdog_{clock_, sockets, {}};

public:
    std::unique_ptr<Worker> worker;
};

class WorkersTest : public testing::Test {
protected:
    WorkersTest() {
        const auto started = mock_.start();
        EXPECT_TRUE(started) << started.error();
    }

    ~WorkersTest() override {
        control_.on([&] { admin_.reset(); });
    }

    static std::string id(int number) { return "c" + std::to_string(10 + number); }

    void put(const std::string& name, const std::string& spec) {
        const auto made = control_.await([&] {
            return admin_->put_connection({.id = ConnectionId{name}, .labels = {}, .spec = spec}, clock_.now() + 10s);
        });
        ASSERT_EQ(made.verdict, core::Verdict::done);
    }

    void put_feeds(int count, const std::string& more = replayed) {
        for (int i = 0; i < count; ++i) {
            put(id(i), feed_spec(mock_.port(), id(i), more));
        }
    }

    void set_desired(const std::string& name, core::DesiredState desired) {
        const auto made =
            control_.await([&] { return admin_->set_desired(ConnectionId{name}, desired, clock_.now() + 10s); });
        ASSERT_EQ(made.verdict, core::Verdict::done);
    }

    [[nodiscard]] core::ConnectionRow row(const std::string& name) {
        auto rows = control_.await([&] { return admin_->get_connections({ConnectionId{name}}, clock_.now() + 10s); });
        return rows && rows->size() == 1 ? rows->front() : core::ConnectionRow{};
    }

    [[nodiscard]] std::optional<core::SessionRow> session(const std::string& name) {
        auto row = control_.await([&] { return admin_->get_session(SessionId{name}, clock_.now() + 10s); });
        return row ? *row : std::nullopt;
    }

    [[nodiscard]] std::unique_ptr<Node> node(const WorkerOptions& options, SpecResolver resolve = spec_resolver()) {
        return std::make_unique<Node>(control_, state_, clock_, options, std::move(resolve));
    }

    [[nodiscard]] static bool eventually_data(const Node& node, const std::string& name, std::size_t more) {
        const auto before = node.sink.count(name, sink::RecordKind::data);
        return eventually([&] { return node.sink.count(name, sink::RecordKind::data) >= before + more; });
    }

    // The records of a connection in all these sinks, in the order that readers give them.
    [[nodiscard]] static std::vector<Seen> records_of(const std::string& name, const std::vector<const Node*>& nodes) {
        std::vector<Seen> all;
        for (const auto* each : nodes) {
            const auto records = each->sink.seen(name);
            all.insert(all.end(), records.begin(), records.end());
        }
        std::ranges::sort(all, {}, [](const Seen& record) { return std::pair{record.epoch, record.ordinal}; });
        return all;
    }

    // Nothing is missing between the first and the last number. Returns how many came more than once.
    static std::size_t expect_nothing_lost(const std::vector<Seen>& records) {
        const auto numbers = sequence_of(records);
        const std::set<std::uint64_t> distinct{numbers.begin(), numbers.end()};
        if (!distinct.empty()) {
            EXPECT_EQ(distinct.size(), *distinct.rbegin() - *distinct.begin() + 1);
        }
        EXPECT_EQ(std::ranges::count(records, sink::RecordKind::gap, &Seen::kind), 0);
        return numbers.size() - distinct.size();
    }

    [[nodiscard]] std::int64_t oracle(const std::string& name, const std::string& pointer) {
        const simdjson::padded_string text{mock_.control("GET", "/oracle/" + name).body};
        simdjson::dom::parser parser;
        std::int64_t value = -1;
        return parser.parse(text).at_pointer(pointer).get(value) == simdjson::SUCCESS ? value : -1;
    }

    runtime::SystemClock clock_;
    mock::MockUpstream mock_{{.rate = 100}, clock_};
    ControlThread control_{clock_};
    std::shared_ptr<store::MemoryState> state_ = store::make_memory_state(clock_);
    std::unique_ptr<store::Store> admin_ =
        control_.on([&] { return store::open_memory_store(state_, control_.loop()); });
};

}  // namespace longhold::worker::test
