// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/hash.h>
#include <longhold/base/invariant.h>
#include <longhold/core/sequence_number.h>
#include <longhold/core/sequencer.h>

#include <algorithm>
#include <utility>

namespace longhold::core {
std::uint64_t sequence_id(const SequenceIdentity& identity) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << 53U) - 1;  // what every JSON reader keeps exactly
    return std::max<std::uint64_t>(stable_hash(identity.sequence_field, stable_hash(identity.url)) & mask, 1);
}

Sequencer::Sequencer(SequenceRule rule, SequencerStart start)
    : rule_(rule), start_(std::make_unique<SequencerStart>(std::move(start))) {
    if (!rule_.has_sequence) {
        rule_.resume = Resume::none;
    }
    const auto& point = start_->resume_point;
    start_->held_before = start_->held_before || point;
    start_->spec_changed = start_->spec_changed && start_->held_before;
    life_before_ = start_->held_before && !start_->spec_changed;
    if (!point) {
        return;
    }
    stream_ = std::max<std::uint32_t>(point->stream, 1);
    if (!rule_.has_sequence) {
        return;
    }
    if (const auto number = sequence_number(point->value)) {
        place_ = Place::number;
        number_ = *number;
        delivered_ = number;
        had_ = true;
    } else if (!point->value.empty()) {
        place_ = Place::text;
        text_ = point->value;
        had_ = true;
    } else if (stream_ > 1 && can_replay_from_first()) {
        // The numbering restarted, and nothing of the new one is durable yet.
        place_ = Place::number;
        number_ = *rule_.first;
    }
}

std::vector<Note> Sequencer::begin() {
    const auto start = std::exchange(start_, nullptr);
    invariant(start != nullptr, "an epoch begins once");
    std::vector<Note> notes{claimed_note(stream_, start->resume_point)};
    if (start->spec_changed) {
        add_gap(notes, NoteReason::spec_change, next_expected(), std::nullopt);
        begin_stream();
        notes.push_back(state_note(NoteReason::spec_change, stream_));
    }
    return notes;
}

std::optional<std::string> Sequencer::resume_value() const {
    if (rule_.resume == Resume::none || place_ == Place::unknown) {
        return std::nullopt;
    }
    if (place_ == Place::text) {
        return text_;
    }
    if (had_ || rule_.resume == Resume::inclusive) {
        return std::to_string(number_);
    }
    return number_ > 0 ? std::optional{std::to_string(number_ - 1)} : std::nullopt;
}

std::vector<Note> Sequencer::opened(std::optional<std::string_view> asked) {
    std::vector<Note> notes;
    const bool life_before = std::exchange(life_before_, true);
    new_socket_ = true;
    resumed_ = rule_.resume != Resume::none && asked && !asked->empty();
    replaying_ = std::exchange(replay_next_, false);
    if (resumed_) {
        loss_open_ = false;
        place_at(*asked);
    } else if (rule_.has_sequence) {
        loss_open_ = life_before;
    } else if (life_before) {
        add_gap(notes, NoteReason::no_replay, std::nullopt, std::nullopt);
    }
    return notes;
}

void Sequencer::place_at(std::string_view asked) {
    had_ = place_ != Place::unknown && had_;
    if (const auto number = sequence_number(asked)) {
        place_ = Place::number;
        number_ = had_ || rule_.resume == Resume::inclusive || *number == UINT64_MAX ? *number : *number + 1;
    } else {
        place_ = Place::text;
        text_ = asked;
    }
}

Decision Sequencer::on_message(std::string_view seq) {
    invariant(life_before_, "a message comes on an opened socket");
    if (!rule_.has_sequence) {
        return {.stream = stream_};
    }
    if (!seq.empty()) {
        const auto number = sequence_number(seq);
        return number ? on_number(*number) : on_text(seq);
    }
    ++counts_.without_seq;
    Decision decision{.stream = stream_};
    if (std::exchange(loss_open_, false)) {
        add_gap(decision.notes, loss_reason(), next_expected(), std::nullopt);
    }
    return decision;
}

Decision Sequencer::on_number(std::uint64_t number) {
    const bool new_socket = std::exchange(new_socket_, false);
    const bool loss = std::exchange(loss_open_, false);
    if (place_ == Place::number && had_) {
        return on_number_after(number, new_socket, loss);
    }
    Decision decision{.with_seq = true, .stream = stream_};
    if (place_ == Place::number) {
        if (number > number_ && (loss || rule_.by_one)) {
            add_gap(decision.notes, loss ? loss_reason() : NoteReason::sequence_hole, next_expected(), number);
        }
    } else if (loss && (place_ == Place::text || !begins_numbering(number))) {
        add_gap(decision.notes, loss_reason(), next_expected(), number);
    }
    accept(number, decision);
    return decision;
}

Decision Sequencer::on_number_after(std::uint64_t number, bool new_socket, bool loss) {
    Decision decision{.with_seq = true, .stream = stream_};
    if (number == number_ && new_socket && resumed_ && rule_.resume == Resume::inclusive) {
        ++counts_.dropped;
        decision.action = Action::drop;
        return decision;
    }
    if (number < number_ || (number == number_ && new_socket)) {
        return restart(number, new_socket);
    }
    if (number - number_ > 1 && (loss || rule_.by_one)) {
        add_gap(decision.notes, loss ? loss_reason() : NoteReason::sequence_hole, next_expected(), number);
    }
    accept(number, decision);
    return decision;
}

Decision Sequencer::restart(std::uint64_t number, bool new_socket) {
    ++counts_.restarts;
    Decision decision{.with_seq = true};
    if (new_socket) {
        // How far the former numbering went while nobody listened is not known.
        add_gap(decision.notes, NoteReason::sequence_restart, next_expected(), std::nullopt);
    }
    begin_stream();
    decision.stream = stream_;
    decision.notes.push_back(state_note(NoteReason::sequence_restart, stream_));
    if (!begins_numbering(number)) {
        if (can_replay_from_first() && number > *rule_.first && !replaying_) {
            place_ = Place::number;
            number_ = *rule_.first;
            replay_next_ = true;
            ++counts_.replays_asked;
            decision.action = Action::reconnect;
            return decision;
        }
        if (number > rule_.first.value_or(0)) {
            const auto from = rule_.first ? std::optional{std::to_string(*rule_.first)} : std::nullopt;
            add_gap(decision.notes, NoteReason::sequence_restart, from, number);
        }
    }
    accept(number, decision);
    return decision;
}

Decision Sequencer::on_text(std::string_view seq) {
    const bool new_socket = std::exchange(new_socket_, false);
    const bool loss = std::exchange(loss_open_, false);
    Decision decision{.with_seq = true, .stream = stream_};
    if (new_socket && resumed_ && rule_.resume == Resume::inclusive && place_ == Place::text && had_ && text_ == seq) {
        ++counts_.dropped;
        decision.action = Action::drop;
        return decision;
    }
    if (loss) {
        add_gap(decision.notes, loss_reason(), next_expected(), std::nullopt);
    }
    place_ = Place::text;
    text_.assign(seq);
    had_ = true;
    return decision;
}

void Sequencer::accept(std::uint64_t number, Decision& decision) {
    decision.redelivered = delivered_ && number <= *delivered_;
    counts_.redelivered += decision.redelivered ? 1 : 0;
    place_ = Place::number;
    number_ = number;
    had_ = true;
    delivered_ = std::max(delivered_.value_or(number), number);
}

void Sequencer::begin_stream() {
    ++stream_;
    place_ = Place::unknown;
    had_ = false;
    delivered_.reset();
}

bool Sequencer::begins_numbering(std::uint64_t number) const {
    return rule_.first ? number == *rule_.first : number <= 1;
}

bool Sequencer::can_replay_from_first() const {
    return rule_.first &&
           (rule_.resume == Resume::inclusive || (rule_.resume == Resume::exclusive && *rule_.first > 0));
}

NoteReason Sequencer::loss_reason() const {
    return rule_.resume != Resume::none && place_ == Place::unknown ? NoteReason::no_cursor : NoteReason::no_replay;
}

std::optional<std::string> Sequencer::next_expected() const {
    if (place_ == Place::unknown) {
        return std::nullopt;
    }
    if (place_ == Place::text) {
        return text_;
    }
    if (!had_) {
        return std::to_string(number_);
    }
    return number_ < UINT64_MAX ? std::optional{std::to_string(number_ + 1)} : std::nullopt;
}

// `before`: the number after the last one lost.
void Sequencer::add_gap(std::vector<Note>& notes, NoteReason reason, std::optional<std::string> from,
                        std::optional<std::uint64_t> before) {
    ++counts_.gaps;
    const auto to = before && *before > 0 ? std::optional{std::to_string(*before - 1)} : std::nullopt;
    notes.push_back(gap_note(reason, stream_, from, to));
}

}  // namespace longhold::core
