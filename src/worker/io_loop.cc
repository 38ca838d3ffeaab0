// SPDX-License-Identifier: Apache-2.0
#include "io_loop.h"

#include <longhold/base/invariant.h>

#include <algorithm>
#include <array>
#include <utility>

#include "held_connection.h"

namespace longhold::worker {
namespace {

// An open batch leaves at once when it is this large.
constexpr std::size_t batch_bytes_max = 256UL * 1024;

// The intake beyond its high mark: the message that makes a connection stop, of each connection, and the records that
// connections write of themselves.
constexpr std::uint64_t intake_burst = 2 * IoLoop::message_bytes_max;

core::IntakeLimits intake_limits(std::uint64_t bytes) {
    return {.low = bytes / 2, .high = bytes, .burst = intake_burst};
}

// Empty batches kept for use, so that the hot path does not allocate.
constexpr std::size_t spare_batches_max = 16;

}  // namespace

IoLoop::IoLoop(IoLoopOptions options, const runtime::Clock& clock, sink::Sink& sink, runtime::AbortTable& sockets,
               telemetry::Log& log, telemetry::Metrics& metrics, SpecResolver resolve, Reports reports)
    : options_(std::move(options)),
      clock_(clock),
      sink_(sink),
      log_(log),
      metrics_(metrics),
      resolve_(std::move(resolve)),
      reports_(std::move(reports)),
      loop_(clock),
      tasks_(loop_),
      shared_{.loop = loop_,
              .read_buffer = read_buffer_,
              .tls = tls_,
              .abort_table = sockets,
              .group = options_.number,
              .entropy = entropy_},
      random_(options_.seed),
      intake_(intake_limits(options_.intake_bytes)),
      message_room_(options_.intake_bytes + message_bytes_max + (std::uint64_t{1} << 20U)),
      open_batch_(std::make_unique<sink::RecordBatch>()) {
    thread_ = std::make_unique<runtime::Thread>("io-" + std::to_string(options_.number), [this] { loop_.run(); });
}

IoLoop::~IoLoop() {
    thread_->join();
    invariant(connections_.empty() && batches_out_.empty(), "an I/O loop ends when its records have come back");
}

// ---- from any thread
// -------------------------------------------------------------------------------------------------

void IoLoop::open(core::ConnectionRow row, bool held_before, std::shared_ptr<const SessionRights> rights) {
    loop_.post([this, row = std::move(row), held_before, rights = std::move(rights)]() mutable {
        if (stopping_) {
            return;
        }
        const ConnectionId id = row.id;
        auto connection = std::make_unique<HeldConnection>(*this, std::move(row), held_before, std::move(rights));
        HeldConnection* const address = connection.get();
        connections_.emplace(address, std::move(connection));
        if (const auto former = current_.find(id); former != current_.end()) {
            (*former)->abort();
            current_.erase(former);
        }
        current_.insert(address);
        spawn(*address);
    });
}

void IoLoop::close(core::CloseConnection order) {
    loop_.post([this, order = std::move(order)] {
        if (auto* const held = find(order.connection, order.epoch)) {
            held->close(order.reason, order.within);
        } else {
            // Never opened here, or ended already: there is nothing to flush.
            report_closed(core::Closed{order.connection, order.epoch, std::nullopt});
        }
    });
}

void IoLoop::abort(ConnectionId connection, Epoch epoch) {
    loop_.post([this, connection = std::move(connection), epoch] {
        if (auto* const held = find(connection, epoch)) {
            held->abort();
        }
    });
}

void IoLoop::abort_session(SessionId session) {
    loop_.post([this, session = std::move(session)] {
        for (const auto& [address, held] : connections_) {
            if (held->session() == session) {
                held->abort();
            }
        }
    });
}

void IoLoop::update(core::ConnectionRow row) {
    loop_.post([this, row = std::move(row)]() mutable {
        if (auto* const held = find(row.id, row.epoch)) {
            held->update(std::move(row));
        }
    });
}

void IoLoop::gather(std::function<void(std::vector<MovedCursor>)> take) {
    loop_.post([this, take = std::move(take)] {
        std::vector<MovedCursor> moved;
        for (auto* const held : current_) {
            if (auto cursor = held->take_moved_cursor()) {
                moved.push_back(MovedCursor{held->id(), held->epoch(), std::move(*cursor)});
            }
        }
        take(std::move(moved));
    });
}

void IoLoop::gather_pending(std::function<void(std::map<ConnectionId, std::uint64_t>)> take) {
    loop_.post([this, take = std::move(take)] {
        std::map<ConnectionId, std::uint64_t> pending;
        for (const auto* const held : current_) {
            pending.emplace(held->id(), held->bytes_in_flight());
        }
        take(std::move(pending));
    });
}

void IoLoop::stop() {
    loop_.post([this] {
        stopping_ = true;
        for (const auto& [address, held] : connections_) {
            held->abort();
        }
        finish_when_empty();
    });
}

void IoLoop::finish_when_empty() {
    if (stopping_ && connections_.empty() && batches_out_.empty()) {
        loop_.finish();
    }
}

void IoLoop::returned(std::unique_ptr<sink::RecordBatch> batch, sink::Delivery delivery) noexcept {
    loop_.post(
        [this, raw = batch.release(), delivery] { take_back(std::unique_ptr<sink::RecordBatch>{raw}, delivery); });
}

// ---- on the loop
// -----------------------------------------------------------------------------------------------------

const ConnectionId& IoLoop::ById::id_of(const HeldConnection* connection) {
    return connection->id();
}

HeldConnection* IoLoop::find(const ConnectionId& connection, Epoch epoch) {
    const auto entry = current_.find(connection);
    return entry != current_.end() && (*entry)->epoch() == epoch ? *entry : nullptr;
}

Instant IoLoop::turn_now() {
    if (!std::exchange(turn_marked_, true)) {
        turn_now_ = clock_.now();
        turn_wall_now_ = clock_.wall_now();
        loop_.post([this] { hand_over(); });
    }
    return turn_now_;
}

WallTime IoLoop::turn_wall_now() {
    static_cast<void>(turn_now());
    return turn_wall_now_;
}

void IoLoop::append(const SessionRights& rights, const sink::RecordHeader& header, std::string_view seq,
                    std::string_view body) {
    static_cast<void>(turn_now());
    if (!open_batch_->empty() && (open_batch_->session != rights.session || open_batch_->bytes() >= batch_bytes_max)) {
        hand_over();
    }
    if (open_batch_->empty()) {
        open_batch_->session = rights.session;
        open_batch_->right = rights.per_loop[options_.number];
    }
    const std::size_t before = open_batch_->bytes();
    open_batch_->append(header, seq, body);
    const auto admission = intake_.admit(open_batch_->bytes() - before, turn_now_);
    invariant(admission != core::Admission::refused,
              "has_room() was asked before a message, and the rest is kept for other records");
    pending_records_.fetch_add(1, std::memory_order_relaxed);
    pending_bytes_.store(intake_.bytes(), std::memory_order_relaxed);
    if (pending_since_.load(std::memory_order_relaxed) == INT64_MAX) {
        pending_since_.store(turn_now_.time_since_epoch().count(), std::memory_order_relaxed);
    }
}

void IoLoop::hand_over() {
    turn_marked_ = false;
    if (open_batch_->empty()) {
        return;
    }
    auto batch = std::move(open_batch_);
    if (spare_batches_.empty()) {
        open_batch_ = std::make_unique<sink::RecordBatch>();
    } else {
        open_batch_ = std::move(spare_batches_.back());
        spare_batches_.pop_back();
    }
    batches_out_.push_back(turn_now_);
    sink_.submit(std::move(batch), *this);
}

void IoLoop::hurry() {
    // After this turn's records, and once for all that wait in it.
    if (!std::exchange(hurry_posted_, true)) {
        loop_.post([this] {
            hurry_posted_ = false;
            hand_over();
            sink_.hurry();
        });
    }
}

void IoLoop::take_back(std::unique_ptr<sink::RecordBatch> batch, sink::Delivery delivery) {
    batches_out_.pop_front();
    // Runs of one connection's records are told together.
    const auto& records = batch->records();
    for (std::size_t i = 0; i < records.size();) {
        std::size_t end = i;
        std::uint64_t bytes = 0;
        while (end < records.size() && records[end].origin == records[i].origin) {
            bytes += records[end].seq_size + records[end].body_size;
            ++end;
        }
        auto* const held = static_cast<HeldConnection*>(records[i].origin->context);
        held->records_returned(records[i].ordinal, records[end - 1].ordinal, bytes,
                               delivery == sink::Delivery::durable);
        i = end;
    }
    if (delivery == sink::Delivery::durable) {
        count(records);
    }
    pending_records_.fetch_sub(records.size(), std::memory_order_relaxed);
    const bool resume = intake_.returned(batch->bytes());
    pending_bytes_.store(intake_.bytes(), std::memory_order_relaxed);
    batch->clear();
    if (spare_batches_.size() < spare_batches_max) {
        spare_batches_.push_back(std::move(batch));
    }
    note_pending();
    if (resume) {
        resume_readers();
    }
    finish_when_empty();
}

void IoLoop::count(const std::vector<sink::RecordHeader>& records) {
    std::array<std::uint64_t, 3> of_kind{};
    for (const auto& record : records) {
        ++of_kind.at(static_cast<std::size_t>(record.kind));
    }
    metrics_.data_records.add(of_kind[static_cast<std::size_t>(sink::RecordKind::data)]);
    metrics_.gap_records.add(of_kind[static_cast<std::size_t>(sink::RecordKind::gap)]);
    metrics_.state_records.add(of_kind[static_cast<std::size_t>(sink::RecordKind::state)]);
}

void IoLoop::note_pending() {
    Instant since = Instant::max();
    if (!batches_out_.empty()) {
        since = batches_out_.front();
    } else if (!open_batch_->empty()) {
        since = turn_now_;
    }
    pending_since_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
}

void IoLoop::paused(HeldConnection& connection) {
    paused_.insert(&connection);
    hurry();  // what the sink could still wait for does not come now
}

void IoLoop::resume_readers() {
    const auto all = std::exchange(paused_, {});
    std::vector<HeldConnection*> order{all.begin(), all.end()};
    // The first ones fill the intake again: who they are is a matter of luck, and never of the same ones.
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random_.below(i)]);
    }
    for (auto* const held : order) {
        held->resume_reading();
    }
}

bool IoLoop::begin_attempt() {
    if (attempts_ >= options_.attempts_at_once) {
        return false;
    }
    ++attempts_;
    return true;
}

IoLoop::AttemptQueue::iterator IoLoop::queue_attempt(HeldConnection& connection) {
    return attempts_waiting_.insert(attempts_waiting_.end(), &connection);
}

void IoLoop::end_attempt() {
    if (attempts_waiting_.empty()) {
        --attempts_;
        return;
    }
    HeldConnection* const next = attempts_waiting_.front();
    attempts_waiting_.pop_front();
    next->grant_attempt();
}

void IoLoop::spawn(HeldConnection& connection) {
    loop_.post([this, address = &connection] { tasks_.spawn(address->run()); });
}

void IoLoop::retire(HeldConnection& connection) {
    loop_.post([this, address = &connection] {
        if (const auto entry = current_.find(address->id()); entry != current_.end() && *entry == address) {
            current_.erase(entry);
        }
        paused_.erase(address);
        connections_.erase(address);
        finish_when_empty();
    });
}

}  // namespace longhold::worker
