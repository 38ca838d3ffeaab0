// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <algorithm>
#include <cerrno>
#include <ranges>

namespace longhold::sink {
namespace {

// The longest wait while anything is due: it is counted on a clock that stands still while the machine sleeps.
constexpr Duration look_every = std::chrono::seconds{1};
// The right is asked at least this often.
constexpr std::size_t write_bytes_max = std::size_t{4} * 1024 * 1024;
constexpr std::size_t buffer_bytes_kept = std::size_t{16} * 1024 * 1024;

// Where room comes back, the same file goes on.
bool is_full(int error) {
    return error == ENOSPC || error == EDQUOT;
}

}  // namespace

Writer::Writer(NdjsonOptions options, Files& files, const runtime::Clock& clock, telemetry::Log& log)
    : options_(std::move(options)), files_(files), clock_(clock), log_(log) {}

void Writer::run() {
    try {
        while (turn()) {
        }
    } catch (const Abandoned&) {
        // All that was ours is the closing thread's now.
    }
    ended_.store(true, std::memory_order_release);
    ended_signal_.raise();
}

bool Writer::turn() {
    const bool was_closing = closing();  // asked first, so that all that was submitted before close() is taken
    sync_now_ = hurried_.exchange(false, std::memory_order_acquire) || sync_now_;  // likewise
    inbox_.take(waiting_);
    if (out_of_time()) {
        finish();
        return false;
    }
    if (!retry_at_ || clock_.now() >= *retry_at_) {
        retry_at_.reset();
        work();
    }
    if (was_closing && (idle() || out_of_time())) {
        finish();
        return false;
    }
    inbox_.wait(longest_wait());
    return true;
}

void Writer::hurry() {
    hurried_.store(true, std::memory_order_release);
    inbox_.wake();
}

void Writer::work() {
    if (trouble_.load(std::memory_order_relaxed) != 0) {
        revoke_waiting();
    }
    while (take_next()) {
        if (current_) {
            const Step step = write_current();
            if (step == Step::failed) {
                return;
            }
            if (sync_is_due()) {
                if (!sync_all()) {
                    return;
                }
                if (step == Step::written) {
                    recovered();
                }
            }
        }
        if (out_of_time()) {
            return;
        }
    }
    if (retry_at_) {
        return;
    }
    if ((closing() || sync_now_ || sync_is_due()) && !sync_all()) {
        return;
    }
    sync_now_ = false;
    close_aged();
    if (idle()) {
        recovered();
    }
}

// Makes the next batch the current one, or ends the session whose end is next. False: there is nothing more that can be
// done now.
bool Writer::take_next() {
    if (current_) {
        return true;
    }
    if (waiting_.empty()) {
        return false;
    }
    if (!waiting_.front()->batch) {
        if (!end_session(waiting_.front()->session)) {
            return false;
        }
        waiting_.pop_front();
        return true;
    }
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    if (encoded_.capacity() > buffer_bytes_kept) {
        encoded_ = std::string{};
    }
    encoded_.clear();
    encoder_.append(encoded_, *current_->batch);
    written_ = 0;
    return true;
}

Writer::Step Writer::write_current() {
    if (!holds(*current_->batch)) {
        const auto found = sessions_.find(current_->batch->session);
        drop_current(found == sessions_.end() ? nullptr : found->second.get());
        return Step::dropped;
    }
    if (encoded_.empty()) {
        give_back(std::move(current_), Delivery::durable);
        return Step::dropped;
    }
    Session& session = session_of(current_->batch->session);
    if (!make_room(session)) {
        return Step::failed;
    }
    return write_rest(session);
}

// Sees to an open file that the current batch may go to.
bool Writer::make_room(Session& session) {
    SessionFile& file = session.file;
    if (file.is_open() && written_ == 0 && file.size() > 0) {
        const bool too_big = file.size() + encoded_.size() > options_.rotate_bytes;
        const bool too_old = clock_.now() - file.opened_at() >= options_.rotate_every;
        if (too_big || too_old) {
            if (!sync_session(session)) {
                return false;
            }
            file.close();
        }
    }
    if (!file.is_open()) {
        if (auto opened = file.open_next(clock_.now()); !opened) {
            current_failed(session, Operation::create, opened.error());
            return false;
        }
    }
    return true;
}

Writer::Step Writer::write_rest(Session& session) {
    SessionFile& file = session.file;
    // A torn line here is what a failure left: a batch is not left while it only goes on after a short write.
    if (auto cut = file.cut_torn(); !cut) {
        current_failed(session, Operation::cut, cut.error());
        return Step::failed;
    }
    while (written_ < encoded_.size()) {
        if (!holds(*current_->batch)) {
            drop_current(&session);
            return Step::dropped;
        }
        auto count = file.append(std::string_view{encoded_}.substr(written_, write_bytes_max));
        if (!count) {
            current_failed(session, Operation::write, count.error());
            return Step::failed;
        }
        written_ += *count;
        counters_.bytes.fetch_add(*count, std::memory_order_relaxed);
    }
    if (!sync_due_) {
        sync_due_ = clock_.now() + options_.fsync_every;
    }
    session.unsynced.push_back(std::move(current_));
    return Step::written;
}

// Goes back to the last whole line, and lets what is written be acked while the rest waits.
void Writer::current_failed(Session& session, Operation operation, int error) {
    SessionFile& file = session.file;
    failed(operation, error, file.name());
    if (file.is_open()) {
        if (operation == Operation::write) {
            written_ -= file.torn_bytes();
        }
        [[maybe_unused]] const auto cut = file.cut_torn();  // tried again before the next write
    }
    if (!sync_all() || is_full(error) || !file.is_open() || file.size() == 0) {
        return;
    }
    // Another file may do better. What of the current batch is in this one must be durable before.
    if (sync_session(session)) {
        file.close();
    }
}

// The current batch's right has ended. Whole lines of it stay: they were written while it held.
void Writer::drop_current(Session* session) {
    if (session != nullptr && session->file.is_open()) {
        [[maybe_unused]] const auto cut = session->file.cut_torn();  // or later, by who repairs
    }
    give_back(std::move(current_), Delivery::revoked);
}

Writer::Session& Writer::session_of(const SessionId& id) {
    auto& session = sessions_[id];
    if (!session) {
        session = std::make_unique<Session>(files_, options_.directory, id);
    }
    return *session;
}

bool Writer::out_of_time() const {
    return closing() && clock_.now() >= Instant{Duration{close_deadline_.load(std::memory_order_relaxed)}};
}

// Whether nothing is waiting, being written or unsynced.
bool Writer::idle() const {
    return !current_ && waiting_.empty() && std::ranges::all_of(std::views::values(sessions_), [](const auto& session) {
        return session->unsynced.empty();
    });
}

std::optional<Duration> Writer::longest_wait() const {
    std::optional<Instant> due = retry_at_ ? retry_at_ : sync_due_;
    const auto sooner = [&due](Instant at) { due = due ? std::min(*due, at) : at; };
    if (closing()) {
        sooner(Instant{Duration{close_deadline_.load(std::memory_order_relaxed)}});
    }
    for (const auto& session : std::views::values(sessions_)) {
        if (!retry_at_ && session->file.is_open()) {
            sooner(session->file.opened_at() + options_.rotate_every);
        }
    }
    if (!due) {
        return std::nullopt;
    }
    return std::clamp(*due - clock_.now(), Duration{0}, look_every);
}

void Writer::give_back(std::unique_ptr<Item> item, Delivery delivery) {
    counters_.returned(*item->batch, delivery);
    if (delivery == Delivery::discarded) {
        discarded_.fetch_add(1, std::memory_order_relaxed);
    }
    item->receiver->returned(std::move(item->batch), delivery);
}

void Writer::discard_all() {
    Items rest;
    for (auto& session : std::views::values(sessions_)) {
        std::ranges::move(session->unsynced, std::back_inserter(rest));
        session->unsynced.clear();
    }
    if (current_) {
        rest.push_back(std::move(current_));
    }
    std::ranges::move(waiting_, std::back_inserter(rest));
    waiting_.clear();
    inbox_.seal(rest);
    for (auto& item : rest) {
        if (item->batch) {
            give_back(std::move(item), Delivery::discarded);
        }
    }
}

void Writer::finish() {
    for (auto& session : std::views::values(sessions_)) {
        if (session->file.is_open()) {
            [[maybe_unused]] const auto cut = session->file.cut_torn();
        }
    }
    discard_all();
    sessions_.clear();
}

void Writer::submit(std::unique_ptr<Item> item) {
    if (item->batch) {
        counters_.submitted(*item->batch);
    }
    if (auto refused = inbox_.push(std::move(item)); refused && refused->batch) {
        give_back(std::move(refused), Delivery::discarded);
    }
}

void Writer::begin_close(Instant deadline) {
    close_deadline_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    closing_.store(true, std::memory_order_release);
    inbox_.wake();
}

bool Writer::wait_ended(Duration longest) {
    if (!ended_.load(std::memory_order_acquire)) {
        ended_signal_.wait(longest);
    }
    return ended_.load(std::memory_order_acquire);
}

bool Writer::give_up() {
    if (!files_.abandon()) {
        return false;
    }
    discard_all();
    return true;
}

SinkHealth Writer::health() const {
    SinkHealth health{.name = options_.name, .reason = {}};
    const std::uint64_t trouble = trouble_.load(std::memory_order_relaxed);
    if (trouble != 0) {
        const auto operation = static_cast<Operation>(trouble >> 32U);
        const char* const what = operation == Operation::create ? "create a file"
                                 : operation == Operation::sync ? "make records durable"
                                 : operation == Operation::cut  ? "cut a torn line"
                                                                : "write";
        health.stuck = true;
        health.reason = std::string{"cannot "} + what + " in '" + options_.directory +
                        "': " + error_text(static_cast<int>(trouble & 0xffffffffU)) + "; trying again";
    }
    health.records = counters_.records.load(std::memory_order_relaxed);
    health.bytes = counters_.bytes.load(std::memory_order_relaxed);
    health.batches = counters_.batches.load(std::memory_order_relaxed);
    health.failures = counters_.failures.load(std::memory_order_relaxed);
    health.pending_records = counters_.pending_records.load(std::memory_order_relaxed);
    health.pending_bytes = counters_.pending_bytes.load(std::memory_order_relaxed);
    return health;
}

}  // namespace longhold::sink
