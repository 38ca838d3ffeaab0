// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include <fcntl.h>
#include <longhold/config/connection_spec.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace longhold::worker::test {

bool eventually(const std::function<bool()>& holds, Duration longest) {
    const runtime::SystemClock clock;
    const Instant deadline = clock.now() + longest;
    while (!holds()) {
        if (clock.now() > deadline) {
            return false;
        }
        ::usleep(1000);
    }
    return true;
}

// ---- FakeSink

void FakeSink::submit(std::unique_ptr<sink::RecordBatch> batch, sink::BatchReceiver& receiver) {
    std::vector<Waiting> now;
    bool discarded = false;
    {
        const std::lock_guard lock{mutex_};
        discarded = closed_;
        (holding_ && !closed_ ? waiting_ : now).push_back(Waiting{std::move(batch), &receiver});
    }
    give_back(std::move(now), discarded);
}

void FakeSink::give_back(std::vector<Waiting> items, bool discarded) {
    for (auto& item : items) {
        auto delivery = sink::Delivery::discarded;
        if (!discarded) {
            const std::lock_guard lock{mutex_};
            if (item.batch->right->holds(clock_.now())) {
                delivery = sink::Delivery::durable;
                for (const auto& record : item.batch->records()) {
                    seen_.push_back(Seen{.session = item.batch->session,
                                         .connection = record.origin->connection.text(),
                                         .epoch = record.origin->epoch.value,
                                         .ordinal = record.ordinal,
                                         .stream = record.stream,
                                         .kind = record.kind,
                                         .binary = record.binary,
                                         .seq = std::string{item.batch->seq(record)},
                                         .body = std::string{item.batch->body(record)},
                                         .at = clock_.now()});
                }
            } else {
                delivery = sink::Delivery::revoked;
                ++revoked_;
            }
        }
        item.receiver->returned(std::move(item.batch), delivery);
    }
}

sink::Result<std::vector<sink::SinkCursor>> FakeSink::resume_points(const SessionId& session) {
    return points ? points(session) : sink::Result<std::vector<sink::SinkCursor>>{};
}

void FakeSink::end_session(const SessionId& session) {
    const std::lock_guard lock{mutex_};
    ended_.push_back(session);
}

bool FakeSink::close(Instant /*deadline*/) {
    const bool idle = waiting() == 0;
    discard();
    return idle;
}

void FakeSink::hold() {
    const std::lock_guard lock{mutex_};
    holding_ = true;
}

void FakeSink::release() {
    // What is submitted meanwhile waits too, so that the order stays.
    for (;;) {
        std::vector<Waiting> items;
        {
            const std::lock_guard lock{mutex_};
            items.swap(waiting_);
            if (items.empty()) {
                holding_ = false;
                return;
            }
        }
        give_back(std::move(items), false);
    }
}

void FakeSink::discard() {
    std::vector<Waiting> items;
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        items.swap(waiting_);
    }
    give_back(std::move(items), true);
}

std::vector<Seen> FakeSink::seen() const {
    const std::lock_guard lock{mutex_};
    return seen_;
}

std::vector<Seen> FakeSink::seen(const std::string& connection) const {
    const std::lock_guard lock{mutex_};
    std::vector<Seen> records;
    for (const auto& record : seen_) {
        if (record.connection == connection) {
            records.push_back(record);
        }
    }
    return records;
}

std::size_t FakeSink::count(const std::string& connection, sink::RecordKind kind) const {
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(std::ranges::count_if(
        seen_, [&](const Seen& record) { return record.connection == connection && record.kind == kind; }));
}

std::size_t FakeSink::revoked() const {
    const std::lock_guard lock{mutex_};
    return revoked_;
}

std::size_t FakeSink::waiting() const {
    const std::lock_guard lock{mutex_};
    return waiting_.size();
}

std::vector<SessionId> FakeSink::ended() const {
    const std::lock_guard lock{mutex_};
    return ended_;
}

// ---- QuietLog, ControlThread

QuietLog::QuietLog(const runtime::Clock& clock)
    : descriptor_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
      log_(std::make_unique<telemetry::Log>(telemetry::Level::debug, telemetry::LogFormat::text, clock, descriptor_)) {}

QuietLog::~QuietLog() {
    log_.reset();
    ::close(descriptor_);
}

ControlThread::ControlThread(const runtime::Clock& clock)
    : loop_(clock), tasks_(std::in_place, loop_), thread_("control", [this] { loop_.run(); }) {}

ControlThread::~ControlThread() {
    loop_.finish();
    thread_.join();
}

void add_session(ControlThread& control, store::Store& store, const SessionId& session) {
    const core::SessionRow row{.id = session, .worker_id = WorkerId{"w"}, .lease = 1s, .heartbeat_every = 300ms};
    const auto joined = control.await([&] { return store.join(core::Join{row}, control.loop().clock().now() + 10s); });
    ASSERT_EQ(joined.verdict, core::Verdict::done);
}

// ---- specs

std::string feed_spec(std::uint16_t port, const std::string& id, const std::string& more) {
    return R"({"url":"ws://127.0.0.1:)" + std::to_string(port) + "/feed/" + id + '"' + more + '}';
}

SpecResolver spec_resolver(const std::map<std::string, std::string>& variables) {
    const auto profiles = std::make_shared<const config::ProfileSet>(*config::load_profiles(""));
    const config::ReferenceSources sources{{variables.begin(), variables.end()}, {}};
    return [profiles, sources](const std::string& spec) -> std::expected<config::ResolvedProfile, std::string> {
        const auto parsed = config::parse_spec(spec, "spec");
        if (!parsed) {
            return std::unexpected(parsed.error().front().text());
        }
        auto resolved = config::resolve_profile(*parsed, *profiles, sources, "spec");
        if (!resolved) {
            return std::unexpected(resolved.error().front().text());
        }
        return std::move(*resolved);
    };
}

std::vector<std::uint64_t> sequence_of(const std::vector<Seen>& records) {
    std::vector<std::uint64_t> numbers;
    for (const auto& record : records) {
        if (record.kind == sink::RecordKind::data && !record.seq.empty()) {
            numbers.push_back(std::stoull(record.seq));
        }
    }
    return numbers;
}

}  // namespace longhold::worker::test
