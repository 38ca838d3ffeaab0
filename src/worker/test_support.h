// SPDX-License-Identifier: Apache-2.0
// What the tests of this layer share: a sink whose acks they control, a store that fails on demand, a control loop on a
// thread of its own, specs of connections to a mock upstream, and waiting for conditions.
#pragma once

#include <gtest/gtest.h>
#include <longhold/config/profile.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/thread.h>
#include <longhold/sink/sink.h>
#include <longhold/telemetry/log.h>
#include <longhold/telemetry/metrics.h>
#include <longhold/worker/worker.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace longhold::worker::test {

using namespace std::chrono_literals;

// Waits until `holds`; false when it does not within `longest`.
[[nodiscard]] bool eventually(const std::function<bool()>& holds, Duration longest = 10s);

// A record as the sink saw it.
struct Seen {
    SessionId session;
    std::string connection;
    std::uint64_t epoch = 0;
    std::uint64_t ordinal = 0;
    std::uint32_t stream = 0;
    sink::RecordKind kind = sink::RecordKind::data;
    bool binary = false;
    std::string seq;
    std::string body;
    Instant at{};
};

// A sink in memory. Batches whose right has ended come back revoked, and what they carry is not seen; the others are
// acked at once, or wait while it holds them. Thread-safety: all members may be called from any thread.
class FakeSink final : public sink::Sink {
public:
    explicit FakeSink(const runtime::Clock& clock) : clock_(clock) {}

    ~FakeSink() override { EXPECT_TRUE(waiting_.empty()) << "batches were not given back"; }

    void submit(std::unique_ptr<sink::RecordBatch> batch, sink::BatchReceiver& receiver) override;

    void hurry() override { ++hurried; }

    [[nodiscard]] sink::Result<std::vector<sink::SinkCursor>> resume_points(const SessionId& session) override;
    void end_session(const SessionId& session) override;

    [[nodiscard]] sink::SinkHealth health() const override { return {}; }

    bool close(Instant deadline) override;

    // From now on batches wait.
    void hold();
    // Gives what waits back, as durable unless the right has ended, and holds nothing any more.
    void release();
    // Gives what waits back as discarded, and all that comes later.
    void discard();

    [[nodiscard]] std::vector<Seen> seen() const;
    [[nodiscard]] std::vector<Seen> seen(const std::string& connection) const;
    [[nodiscard]] std::size_t count(const std::string& connection, sink::RecordKind kind) const;
    [[nodiscard]] std::size_t revoked() const;
    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] std::vector<SessionId> ended() const;

    std::atomic<int> hurried = 0;

    // What resume_points() answers; called outside of locks.
    std::function<sink::Result<std::vector<sink::SinkCursor>>(const SessionId&)> points;

private:
    struct Waiting {
        std::unique_ptr<sink::RecordBatch> batch;
        sink::BatchReceiver* receiver;
    };

    void give_back(std::vector<Waiting> items, bool discarded);

    const runtime::Clock& clock_;
    mutable std::mutex mutex_;
    bool holding_ = false;
    bool closed_ = false;
    std::vector<Waiting> waiting_;
    std::vector<Seen> seen_;
    std::size_t revoked_ = 0;
    std::vector<SessionId> ended_;
};

// A log that nobody reads.
class QuietLog {
public:
    explicit QuietLog(const runtime::Clock& clock);
    ~QuietLog();
    QuietLog(const QuietLog&) = delete;
    QuietLog& operator=(const QuietLog&) = delete;

    [[nodiscard]] telemetry::Log& log() { return *log_; }

private:
    int descriptor_;
    std::unique_ptr<telemetry::Log> log_;
};

// A loop on its own thread, and a way to do things there from the test's.
class ControlThread {
public:
    explicit ControlThread(const runtime::Clock& clock);
    ~ControlThread();
    ControlThread(const ControlThread&) = delete;
    ControlThread& operator=(const ControlThread&) = delete;

    [[nodiscard]] runtime::Loop& loop() { return loop_; }

    // Runs `work` on the loop and waits for what it returns.
    template <class Work>
    auto on(Work work) {
        const auto answer = std::make_shared<std::promise<decltype(work())>>();
        loop_.post([answer, &work] {
            if constexpr (std::is_void_v<decltype(work())>) {
                work();
                answer->set_value();
            } else {
                answer->set_value(work());
            }
        });
        return answer->get_future().get();
    }

    // Runs the task that `make` returns on the loop, and waits for its result.
    template <class Make>
    auto await(Make make) {
        using T = typename decltype(make())::value_type;
        const auto answer = std::make_shared<std::promise<T>>();
        loop_.post([this, answer, &make] { tasks_->spawn(answer_with<T>(make(), answer)); });
        return answer->get_future().get();
    }

private:
    template <class T>
    static runtime::Task<> answer_with(runtime::Task<T> task, std::shared_ptr<std::promise<T>> answer) {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(task);
            answer->set_value();
        } else {
            T value = co_await std::move(task);
            answer->set_value(std::move(value));
        }
    }

    runtime::Loop loop_;
    std::optional<runtime::TaskGroup> tasks_;
    runtime::Thread thread_;
};

// Makes the row of a session, which cursor pages belong to.
void add_session(ControlThread& control, store::Store& store, const SessionId& session);

// The specs that tests use, as JSON; `more` are further members, beginning with a comma.
[[nodiscard]] std::string feed_spec(std::uint16_t port, const std::string& id, const std::string& more = {});
// Members of a spec: numbers at /seq; and that the upstream replays by them.
inline constexpr auto counted = R"(,"sequence":{"field":"/seq","first":1})";
inline constexpr auto replayed = R"(,"sequence":{"field":"/seq","first":1},"resume":{"query":"cursor"})";

// Resolves specs as the product does. `variables`: of the environment.
[[nodiscard]] SpecResolver spec_resolver(const std::map<std::string, std::string>& variables = {});

// Sequence numbers of the data records of a connection, in the order of arrival.
[[nodiscard]] std::vector<std::uint64_t> sequence_of(const std::vector<Seen>& records);

}  // namespace longhold::worker::test
