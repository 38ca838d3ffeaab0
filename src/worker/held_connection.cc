// SPDX-License-Identifier: Apache-2.0
#include "held_connection.h"

#include <longhold/base/invariant.h>
#include <longhold/config/connection_spec.h>
#include <longhold/upstream/profile_options.h>
#include <longhold/worker/sequence_rule.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

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
core::SequenceIdentity identity_of(const core::ConnectionRow& row, const config::ResolvedProfile& resolved) {
    config::ResolvedProfile named{.url = resolved.url, .variables = resolved.variables, .profile = {}};
    if (auto spec = config::parse_spec(row.spec, "spec")) {
        named.url = std::move(spec->url);
        named.variables = std::move(spec->variables);
    }
    return {config::dial_url(named, row.id.text(), std::nullopt), resolved.profile.sequence.field};
}

core::EndKind kind_of(upstream::EndReason reason) {
    switch (reason) {
        case upstream::EndReason::closed_by_peer:
            return core::EndKind::closed;
        case upstream::EndReason::closed_by_us:
            return core::EndKind::rotated;
        case upstream::EndReason::aborted:
        case upstream::EndReason::transport_lost:
        case upstream::EndReason::backpressure:
            return core::EndKind::lost;
        case upstream::EndReason::liveness_timeout:
            return core::EndKind::silent;
        case upstream::EndReason::protocol_violation:
            return core::EndKind::protocol_breach;
        case upstream::EndReason::message_too_big:
            return core::EndKind::message_too_big;
        case upstream::EndReason::handshake_refused:
            return core::EndKind::http_status;
        case upstream::EndReason::tls_failed:
            return core::EndKind::tls_failed;
        case upstream::EndReason::resolve_failed:
        case upstream::EndReason::connect_failed:
        case upstream::EndReason::attempt_timed_out:
            return core::EndKind::unreachable;
    }
    std::unreachable();
}

core::ConnectionEnd end_of(const upstream::Ended& ended) {
    core::ConnectionEnd end{.kind = kind_of(ended.reason), .retry_after = ended.retry_after};
    if (end.kind == core::EndKind::closed && ended.close_code != upstream::close_code_absent) {
        end.close_code = ended.close_code;
    }
    if (end.kind == core::EndKind::http_status) {
        end.http_status = static_cast<std::uint16_t>(ended.http_status);
        if (ended.http_status == 0 || ended.http_status == 101) {
            end.kind = core::EndKind::bad_handshake;
        }
    }
    return end;
}

// What broke, and the beginning of what a server that refused the upgrade said of it.
std::string detail_of(const upstream::Ended& ended) {
    constexpr std::size_t shown_max = 200;
    return ended.body.empty() ? ended.detail : ended.detail + ": " + ended.body.substr(0, shown_max);
}

}  // namespace

HeldConnection::HeldConnection(IoLoop& io, core::ConnectionRow row, bool held_before,
                               std::shared_ptr<const SessionRights> rights)
    : io_(io),
      row_(std::move(row)),
      held_before_(held_before),
      rights_(std::move(rights)),
      origin_{.connection = row_.id, .epoch = row_.epoch, .context = this},
      tracker_(0, row_.epoch, row_.cursor),
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

void HeldConnection::close(core::CloseReason reason) {
    if (std::exchange(closing_, true)) {
        return;
    }
    close_reason_ = reason;
    if (socket_) {
        const bool moves_on = reason == core::CloseReason::drain;
        socket_->close(moves_on ? close_code_drain : close_code_done,
                       moves_on ? "moving to another worker" : "no longer wanted");
        socket_->resume_reading();  // one that had stopped would not see the answer; nothing is taken in any more
    }
    wake_.notify();
}

void HeldConnection::abort() {
    aborted_ = true;
    closing_ = true;
    if (socket_) {
        socket_->abort();
    }
    wake_.notify();
}

void HeldConnection::update(core::ConnectionRow row) {
    if (closing_) {
        return;
    }
    row.cursor = std::move(row_.cursor);  // what this epoch resumes from was known when it began
    row_ = std::move(row);
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
    auto resolved = io_.resolver()(row_.spec);
    if (!resolved) {
        if (unresolved_why_ != resolved.error()) {
            unresolved_why_ = resolved.error();
            io_.log().error("connection cannot be dialled", {{"connection", id()}, {"reason", unresolved_why_}});
        }
        // A secret that cannot be read for a moment: the one that was read before may still do.
        return resolved_ && resolved_revision_ == row_.spec_revision;
    }
    unresolved_why_.clear();
    auto identity = identity_of(row_, *resolved);
    if (sequencer_ && core::incompatible(identity_, identity)) {
        close(core::CloseReason::stopped);  // the next epoch begins a new stream
        return false;
    }
    tracker_.set_sequence_id(core::sequence_id(identity));
    if (sequencer_ && !same(sequence_rule_of(resolved_->profile), sequence_rule_of(resolved->profile))) {
        close(core::CloseReason::stopped);  // the stream goes on, but in an epoch that reads it by the new rule
        return false;
    }
    resolved_ = std::move(*resolved);
    resolved_revision_ = row_.spec_revision;
    identity_ = std::move(identity);
    return true;
}

core::SequencerStart HeldConnection::start_of(const core::ConnectionRow& row) const {
    return {.resume_point = row.cursor,
            .held_before = held_before_ || row.cursor.has_value(),
            .spec_changed =
                row.cursor && row.cursor->sequence_id != 0 && row.cursor->sequence_id != core::sequence_id(identity_)};
}

runtime::Task<> HeldConnection::run() {
    co_await hold();
    enter(Phase::closing);
    co_await flush();
    if (!aborted_) {
        io_.report_closed(core::Closed{id(), epoch(), tracker_.cursor()});
    }
    // Batches point at this object: it goes when the last one is back.
    while (in_flight_ > 0) {
        co_await wake_.wait();
    }
    io_.retire(*this);
}

runtime::Task<> HeldConnection::hold() {
    while (!closing_) {
        if (io_.intake_full()) {
            co_await wait_before_next(Duration::zero());  // nothing could be taken in
            continue;
        }
        // Anew before each attempt: secrets may have been replaced.
        if (!may_act() || !resolve()) {
            co_await wait_before_next(unresolved_wait);
            continue;
        }
        if (!sequencer_) {
            sequencer_.emplace(sequence_rule_of(resolved_->profile), start_of(row_));
            write_notes(sequencer_->begin());
        }
        co_await attempt();
        if (!closing_ && !std::exchange(renew_, false)) {
            co_await wait_before_next(wait_);
        }
    }
}

runtime::Task<> HeldConnection::wait_before_next(Duration wait) {
    enter(Phase::waiting);
    const Instant until = io_.clock().now() + wait;
    while (!closing_ && !std::exchange(renew_, false) && (io_.clock().now() < until || io_.intake_full())) {
        if (io_.intake_full()) {
            io_.paused(*this);
        }
        co_await wake_.wait_until(io_.clock().now() < until ? until : io_.clock().now() + std::chrono::seconds{1});
    }
}

runtime::Task<bool> HeldConnection::begin_attempt() {
    if (io_.begin_attempt()) {
        co_return true;
    }
    const auto place = io_.queue_attempt(*this);
    while (!granted_ && !closing_) {
        co_await wake_.wait();
    }
    if (std::exchange(granted_, false)) {
        co_return true;
    }
    io_.leave_attempt_queue(place);
    co_return false;
}

void HeldConnection::grant_attempt() {
    granted_ = true;
    wake_.notify();
}

runtime::Task<> HeldConnection::attempt() {
    enter(Phase::dialing);
    const bool begun = co_await begin_attempt();
    if (!begun) {
        co_return;
    }
    asked_ = sequencer_->resume_value();
    std::optional<upstream::ConnectionOptions> options;
    const bool usable = resolved_revision_ == row_.spec_revision;  // it may have been updated during the wait
    if (!closing_ && usable && may_act()) {
        options = dial_options(asked_);
    }
    if (!options) {
        io_.end_attempt();
        wait_ = unresolved_wait;
        co_return;
    }
    renew_ = false;
    open_since_.reset();
    socket_ = std::make_unique<upstream::Connection>(io_.shared(), std::move(*options));
    upstream::Ended result = co_await socket_->run(*this);
    socket_.reset();
    if (!open_since_) {
        io_.end_attempt();
    }
    ended(result);
}

std::optional<upstream::ConnectionOptions> HeldConnection::dial_options(const std::optional<std::string>& cursor) {
    auto options = upstream::options_for(*resolved_, id().text(), cursor);
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
    failures_logged_ = 0;
    std::optional<std::string_view> asked;
    if (asked_) {
        asked = *asked_;
    }
    write_notes(sequencer_->opened(asked));
    for (const auto& message : config::opening_messages(*resolved_, id().text(), asked_)) {
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
    if (!message.binary && resolved_->profile.has_sequence()) {
        seq = io_.sequences().read(message.data, resolved_->profile.sequence.field);
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

void HeldConnection::ended(const upstream::Ended& ended) {
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
    if (!open_since_ && failures_logged_++ % failures_per_log != 0) {
        return;
    }
    io_.log().warning(open_since_ ? "connection lost" : "dial failed", {{"connection", id()},
                                                                        {"epoch", epoch()},
                                                                        {"reason", upstream::name_of(ended.reason)},
                                                                        {"detail", detail_of(ended)},
                                                                        {"close_code", ended.close_code},
                                                                        {"http_status", ended.http_status},
                                                                        {"retry_in", wait_}});
}

runtime::Task<> HeldConnection::flush() {
    while (!aborted_ && tracker_.pending() > 0) {
        co_await wake_.wait();
    }
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
