// SPDX-License-Identifier: Apache-2.0
#include "held_connection.h"

#include <longhold/base/invariant.h>
#include <longhold/config/connection_spec.h>
#include <longhold/upstream/profile_options.h>
#include <longhold/worker/sequence_rule.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "connection_end.h"

namespace longhold::worker {
namespace {

// The close code that an upstream gets: "going away" when another worker goes on, "normal" when nobody does.
constexpr std::uint16_t close_code_drain = 1001;
constexpr std::uint16_t close_code_done = 1000;

// A spec that cannot be resolved is looked at again after so long: a secret's file may have come back.
constexpr Duration unresolved_wait = std::chrono::seconds{30};

// One failure in a row is logged, then every so many.
constexpr std::uint32_t failures_per_log = 20;

bool same(const core::SequenceRule& a, const core::SequenceRule& b) {
    return a.has_sequence == b.has_sequence && a.first == b.first && a.resume == b.resume && a.by_one == b.by_one;
}

// What the connection counts: the URL with its variables, but with the names of secrets and not their values.
std::uint64_t sequence_id_of(const ConnectionId& id, const std::string& spec_text,
                             const config::ResolvedProfile& resolved) {
    config::ResolvedProfile named{.url = resolved.url, .variables = resolved.variables, .profile = {}};
    if (auto spec = config::parse_spec(spec_text, "spec")) {
        named.url = std::move(spec->url);
        named.variables = std::move(spec->variables);
    }
    return core::sequence_id({config::dial_url(named, id.text(), std::nullopt), resolved.profile.sequence.field});
}

}  // namespace

HeldConnection::HeldConnection(IoLoop& io, core::ConnectionRow row, bool held_before,
                               std::shared_ptr<const SessionRights> rights)
    : io_(io),
      spec_(std::move(row.spec)),
      spec_revision_(row.spec_revision),
      beginning_(std::make_unique<Beginning>(row.cursor, held_before)),
      rights_(std::move(rights)),
      origin_{.connection = std::move(row.id), .epoch = row.epoch, .context = this},
      tracker_(0, row.epoch, std::move(row.cursor)),
      backoff_(io.options().backoff),
      wake_(io.loop()) {
    gauge(phase_).add(1);
}

HeldConnection::~HeldConnection() {
    gauge(phase_).add(-1);
}

telemetry::Gauge& HeldConnection::gauge(Phase phase) {
    switch (phase) {
        case Phase::waiting:
            return io_.metrics().backoff;
        case Phase::dialing:
            return io_.metrics().dialing;
        case Phase::open:
            return io_.metrics().open;
        case Phase::closing:
            return io_.metrics().closing;
    }
    std::unreachable();
}

void HeldConnection::enter(Phase phase) {
    gauge(phase_).add(-1);
    phase_ = phase;
    gauge(phase_).add(1);
}

const runtime::ActingRight& HeldConnection::right() const {
    return *rights_->per_loop[io_.options().number];
}

bool HeldConnection::may_act() const {
    return !aborted_ && right().holds(io_.clock().now());
}

// ---- orders from the control thread
// ------------------------------------------------------------------------------------

void HeldConnection::close(core::CloseReason reason, std::optional<Duration> within) {
    if (std::exchange(closing_, true)) {
        if (socket_ && within) {
            socket_->close(close_code_done, "", within);
        }
        return;
    }
    close_reason_ = reason;
    if (socket_) {
        const bool moves_on = reason == core::CloseReason::drain;
        socket_->close(moves_on ? close_code_drain : close_code_done,
                       moves_on ? "moving to another worker" : "no longer wanted", within);
        socket_->resume_reading();  // one that had stopped would not see the answer; nothing is taken in any more
    }
    leave_queue();
    wake_.notify();
}

void HeldConnection::abort() {
    aborted_ = true;
    closing_ = true;
    if (socket_) {
        socket_->abort();
    }
    leave_queue();
    wake_.notify();
}

void HeldConnection::update(core::ConnectionRow row) {
    if (closing_) {
        return;
    }
    spec_ = std::move(row.spec);
    spec_revision_ = row.spec_revision;
    if (!resolve() || closing_) {
        return;  // what the open socket was dialled by stays; the next attempt resolves anew
    }
    renew_ = true;
    if (socket_) {
        socket_->close(close_code_done, "connecting anew");
        socket_->resume_reading();  // one that had stopped would not see the answer
    }
    wake_.notify();
}

void HeldConnection::resume_reading() {
    if (socket_) {
        socket_->resume_reading();
    }
    wake_.notify();
}

// ---- the life
// -----------------------------------------------------------------------------------------------------------

bool HeldConnection::resolve() {
    auto resolved = io_.resolver()(spec_);
    if (!resolved) {
        if (unresolved_why_ != resolved.error()) {
            unresolved_why_ = resolved.error();
            io_.log().error("connection cannot be dialled", {{"connection", id()}, {"reason", unresolved_why_}});
        }
        // A secret that cannot be read for a moment: the one that was read before may still do.
        return resolved_ && resolved_revision_ == spec_revision_;
    }
    std::string{}.swap(unresolved_why_);
    const std::uint64_t sequence_id = sequence_id_of(id(), spec_, *resolved);
    if (sequencer_ && sequence_id != sequence_id_) {
        close(core::CloseReason::stopped);  // the next epoch begins a new stream
        return false;
    }
    tracker_.set_sequence_id(sequence_id);
    if (sequencer_ && !same(sequence_rule_of(*resolved_->profile), sequence_rule_of(resolved->profile))) {
        close(core::CloseReason::stopped);  // the stream goes on, but in an epoch that reads it by the new rule
        return false;
    }
    resolved_ = DialledBy{std::move(resolved->url), std::move(resolved->variables),
                          io_.profiles().share(std::move(resolved->profile))};
    resolved_revision_ = spec_revision_;
    sequence_id_ = sequence_id;
    return true;
}

void HeldConnection::begin_sequence() {
    const auto beginning = std::exchange(beginning_, nullptr);
    const auto& point = beginning->resume_point;
    sequencer_.emplace(
        sequence_rule_of(*resolved_->profile),
        core::SequencerStart{.resume_point = point,
                             .held_before = beginning->held_before || point,
                             .spec_changed = point && point->sequence_id != 0 && point->sequence_id != sequence_id_});
    write_notes(sequencer_->begin());
}

runtime::Task<> HeldConnection::run() {
    while (!closing_) {
        if (!std::exchange(granted_, false)) {
            const Duration wait = std::exchange(wait_, Duration::zero());
            co_await wait_before_next(std::exchange(renew_, false) ? Duration::zero() : wait);
            // Anew before each attempt: secrets may have been replaced.
            if (!closing_ && (!may_act() || !resolve())) {
                wait_ = unresolved_wait;
                continue;
            }
            if (closing_) {
                break;
            }
            if (!sequencer_) {
                begin_sequence();
            }
            enter(Phase::dialing);
            if (!io_.begin_attempt()) {
                queued_ = io_.queue_attempt(*this);
                co_return;  // grant_attempt() or the close goes on
            }
        }
        const bool open = co_await attempt();
        if (open) {
            co_return;  // on_ended() goes on
        }
    }
    if (std::exchange(granted_, false)) {
        io_.end_attempt();
    }
    co_await finish();
}

runtime::Task<> HeldConnection::finish() {
    enter(Phase::closing);
    if (!aborted_ && tracker_.pending() > 0) {
        io_.hurry();  // whoever goes on waits for the acks
    }
    while (!aborted_ && tracker_.pending() > 0) {
        co_await wake_.wait();
    }
    if (!aborted_) {
        io_.report_closed(core::Closed{id(), epoch(), tracker_.cursor()});
    }
    // Batches point at this object: it goes when the last one is back.
    while (in_flight_ > 0) {
        co_await wake_.wait();
    }
    io_.retire(*this);
}

runtime::Task<> HeldConnection::wait_before_next(Duration wait) {
    enter(Phase::waiting);
    Instant until = io_.clock().now() + wait;
    while (!closing_) {
        const Instant now = io_.clock().now();
        if (std::exchange(renew_, false)) {
            until = now;
        }
        if (io_.intake_full()) {
            io_.paused(*this);  // nothing could be taken in
        } else if (now >= until) {
            break;
        }
        co_await wake_.wait_until(now < until ? until : now + std::chrono::seconds{1});
    }
}

void HeldConnection::grant_attempt() {
    queued_.reset();
    granted_ = true;
    io_.spawn(*this);
}

void HeldConnection::leave_queue() {
    if (queued_) {
        io_.leave_attempt_queue(*queued_);
        queued_.reset();
        io_.spawn(*this);
    }
}

runtime::Task<bool> HeldConnection::attempt() {
    asked_ = sequencer_->resume_value();
    std::optional<upstream::ConnectionOptions> options;
    const bool usable = resolved_revision_ == spec_revision_;  // it may have been updated during the wait
    if (!closing_ && usable && may_act()) {
        options = dial_options(asked_);
    }
    if (!options) {
        io_.end_attempt();
        wait_ = unresolved_wait;
        co_return false;
    }
    renew_ = false;
    open_since_.reset();
    socket_ = std::make_unique<upstream::Connection>(io_.shared(), std::move(*options));
    const auto failed = co_await socket_->open(*this);
    if (!failed) {
        co_return true;
    }
    socket_.reset();
    if (!open_since_) {
        io_.end_attempt();
    }
    note_end(*failed);
    co_return false;
}

void HeldConnection::on_ended(upstream::Ended ended) {
    socket_.reset();
    note_end(ended);
    io_.spawn(*this);
}

std::optional<upstream::ConnectionOptions> HeldConnection::dial_options(const std::optional<std::string>& cursor) {
    auto options = upstream::options_for(resolved_->whole(), id().text(), cursor);
    if (!options) {
        io_.log().error("connection cannot be dialled", {{"connection", id()}, {"reason", options.error()}});
        return std::nullopt;
    }
    options->message_bytes_max = std::min<std::size_t>(options->message_bytes_max, IoLoop::message_bytes_max);
    return std::move(*options);
}

void HeldConnection::on_open() {
    io_.end_attempt();
    open_since_ = io_.clock().now();
    if (!may_act()) {
        socket_->abort();
        return;
    }
    enter(Phase::open);
    delivered_data_ = false;
    io_.metrics().all.counter("longhold_dials_total", {{"result", "open"}}).add();
    std::optional<std::string_view> asked;
    if (asked_) {
        asked = *asked_;
    }
    write_notes(sequencer_->opened(asked));
    for (const auto& message : config::opening_messages(resolved_->whole(), id().text(), asked_)) {
        if (!socket_->send_text(message)) {
            socket_->abort();
            return;
        }
    }
}

bool HeldConnection::on_message(upstream::Message message) {
    if (closing_) {
        return true;  // not taken in: the next owner asks for it again, or its loss is a gap there
    }
    if (!right().holds(io_.turn_now())) {
        socket_->abort();  // the session is over, or this loop was given up
        return true;
    }
    if (!io_.has_room(message.data.size())) {
        socket_->abort();  // not taken in: it is asked for again when there is room
        return true;
    }
    io_.metrics().messages.add();
    io_.metrics().message_bytes.add(message.data.size());
    upstream::SequenceValue seq;
    if (!message.binary && resolved_->profile->has_sequence()) {
        seq = io_.sequences().read(message.data, resolved_->profile->sequence.field);
    }
    const core::Decision decision = sequencer_->on_message(seq.text);
    if (!decision.notes.empty()) {
        write_notes(decision.notes);
    }
    switch (decision.action) {
        case core::Action::deliver:
            delivered_data_ = true;
            write(sink::RecordKind::data, decision.stream, decision.with_seq ? seq.text : std::string_view{},
                  seq.is_text, message.data, message.binary);
            break;
        case core::Action::drop:
            io_.metrics().duplicates.add();
            break;
        case core::Action::reconnect:
            // Dialled again after the usual wait, so that an upstream that counts wildly costs no storm of dials.
            io_.log().warning("the upstream counts anew, asking again from its beginning",
                              {{"connection", id()}, {"epoch", epoch()}, {"stream", decision.stream}});
            socket_->abort();
            return true;
    }
    if (io_.intake_full()) {
        io_.paused(*this);
        return false;
    }
    return true;
}

void HeldConnection::write_notes(const std::vector<core::Note>& notes) {
    for (const auto& note : notes) {
        const bool gap = note.kind == core::NoteKind::gap;
        if (gap) {
            io_.metrics().all.counter("longhold_gaps_total", {{"reason", std::string{core::text(note.reason)}}}).add();
        }
        write(gap ? sink::RecordKind::gap : sink::RecordKind::state, note.stream, {}, false, note.members, false);
    }
}

void HeldConnection::write(sink::RecordKind kind, std::uint32_t stream, std::string_view seq, bool seq_is_text,
                           std::string_view body, bool binary) {
    const Instant now = io_.turn_now();
    sink::RecordHeader header{.origin = &origin_,
                              .ordinal = ++ordinal_,
                              .received_at = io_.turn_wall_now(),
                              .stream = stream,
                              .kind = kind,
                              .binary = binary,
                              .seq_is_text = seq_is_text};
    ++in_flight_;
    bytes_in_flight_ += seq.size() + body.size();
    tracker_.sent(ordinal_, stream, seq, now);
    io_.append(*rights_, header, seq, body);
}

void HeldConnection::note_end(const upstream::Ended& ended) {
    const core::ConnectionLife life{.ready = open_since_.has_value(),
                                    .delivered_data = delivered_data_,
                                    .ready_for = open_since_ ? io_.clock().now() - *open_since_ : Duration::zero()};
    const std::string reason{upstream::name_of(ended.reason)};
    io_.metrics()
        .all
        .counter(open_since_ ? "longhold_disconnects_total" : "longhold_dials_total",
                 {{open_since_ ? "reason" : "result", reason}})
        .add();
    const auto wait = backoff_.ended(end_of(ended), life, io_.random().unit());
    // Nothing is given up for ever while it is wanted: what a table calls fatal is tried again at the slowest pace.
    wait_ = wait.value_or(io_.options().backoff.slow_max);
    if (!closing_ && !renew_) {
        log_end(ended);
    }
}

void HeldConnection::log_end(const upstream::Ended& ended) {
    // The first is told, then every twentieth: also of those that open and end at once.
    const std::uint32_t in_row = backoff_.attempts();
    if (in_row > 1 && in_row % failures_per_log != 0) {
        return;
    }
    io_.log().warning(open_since_ ? "connection lost" : "dial failed", {{"connection", id()},
                                                                        {"epoch", epoch()},
                                                                        {"reason", upstream::name_of(ended.reason)},
                                                                        {"detail", detail_of(ended)},
                                                                        {"close_code", ended.close_code},
                                                                        {"http_status", ended.http_status},
                                                                        {"retry_in", wait_},
                                                                        {"failed_in_a_row", in_row}});
}

void HeldConnection::records_returned(std::uint64_t first, std::uint64_t last, std::uint64_t bytes, bool durable) {
    in_flight_ -= last - first + 1;
    bytes_in_flight_ -= bytes;
    if (durable) {
        tracker_.acked(first, last);
    }
    if (closing_) {
        wake_.notify();
    }
}

std::optional<core::Cursor> HeldConnection::take_moved_cursor() {
    const std::uint64_t acked = tracker_.ordinal_acked();
    if (aborted_ || acked == 0 || acked == cursor_told_) {
        return std::nullopt;
    }
    cursor_told_ = acked;
    return tracker_.cursor();
}

}  // namespace longhold::worker
