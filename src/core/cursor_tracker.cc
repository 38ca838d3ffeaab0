// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/core/cursor_tracker.h>
#include <longhold/core/sequence_number.h>

#include <algorithm>
#include <utility>

namespace longhold::core {
namespace {

constexpr std::size_t capacity_min = 2;
constexpr std::size_t marks_max = 16;
constexpr std::size_t marks_kept = 2;
constexpr std::size_t capacity_kept = 64;
constexpr std::size_t text_kept = 4096;
constexpr Duration mark_distance_min = std::chrono::milliseconds{10};

}  // namespace

CursorTracker::CursorTracker(std::uint64_t sequence_id, Epoch epoch, std::optional<Cursor> resume_point)
    : sequence_id_(sequence_id),
      epoch_(epoch),
      resume_point_(resume_point ? std::make_unique<const Cursor>(std::move(*resume_point)) : nullptr) {
    if (resume_point_) {
        stream_ = resume_point_->stream;
        value_text_ = resume_point_->value;
        value_kind_ = value_text_.empty() ? Kind::none : Kind::text;
    }
}

void CursorTracker::sent(std::uint64_t ordinal, std::uint32_t stream, std::string_view seq, Instant received_at) {
    invariant(ordinal == sent_ + 1, "ordinals rise by one");
    mark(ordinal, received_at);
    sent_ = ordinal;
    const auto number = sequence_number(seq);
    const Kind kind = number ? Kind::number : seq.empty() ? Kind::none : Kind::text;
    if (extend_last(stream, kind, number.value_or(0), seq)) {
        return;
    }
    Span added{.count = 1, .first = number.value_or(0), .step = 0, .stream = stream, .kind = kind};
    if (kind == Kind::text) {
        added.first = text_begin_ + text_.size();
        added.step = seq.size();
        text_.append(seq);
        text_peak_ = std::max(text_peak_, text_.size());
    }
    push(added);
}

bool CursorTracker::extend_last(std::uint32_t stream, Kind kind, std::uint64_t number, std::string_view seq) {
    if (size_ == 0) {
        return false;
    }
    Span& last = span(size_ - 1);
    if (last.stream != stream || last.kind != kind) {
        return false;
    }
    if (kind == Kind::text && kept_text(last) != seq) {
        return false;
    }
    if (kind == Kind::number) {
        // Unsigned wrap-around is meant: a falling run has a step near 2^64.
        if (last.count == 1) {
            last.step = number - last.first;
        } else if (number != last.first + last.count * last.step) {
            return false;
        }
    }
    ++last.count;
    return true;
}

void CursorTracker::push(const Span& added) {
    if (size_ == spans_.size()) {
        resize(std::max(capacity_min, spans_.size() * 2));
    }
    ++size_;
    span(size_ - 1) = added;
    size_peak_ = std::max(size_peak_, size_);
}

void CursorTracker::pop_front() {
    const Span front = span(0);
    head_ = (head_ + 1) & (spans_.size() - 1);
    --size_;
    if (front.kind == Kind::text) {
        const std::size_t used = front.first + front.step - text_begin_;
        if (used == text_.size()) {
            text_.clear();
            text_begin_ += used;
        } else if (used > text_kept && used > text_.size() / 2) {
            text_.erase(0, used);
            text_begin_ += used;
        }
    }
}

void CursorTracker::resize(std::size_t capacity) {
    std::vector<Span> ring(capacity);
    for (std::size_t i = 0; i < size_; ++i) {
        ring[i] = span(i);
    }
    spans_ = std::move(ring);
    head_ = 0;
}

void CursorTracker::acked(std::uint64_t first, std::uint64_t last) {
    invariant(first > 0 && first <= last, "an ack names a range");
    invariant(last <= sent_, "only what was sent is acked");
    if (last <= acked_) {
        return;
    }
    if (first > acked_ + 1) {
        add_island(first, last);
        return;
    }
    advance_to(last);
    absorb_islands();
    resume_point_.reset();
    drop_marks();
    if (size_ == 0) {
        give_back_memory();
    }
}

void CursorTracker::advance_to(std::uint64_t ordinal) {
    while (acked_ < ordinal) {
        Span& front = span(0);
        const std::uint64_t taken = std::min(front.count, ordinal - acked_);
        take_value(front, taken);
        acked_ += taken;
        front.count -= taken;
        if (front.count == 0) {
            pop_front();
        } else if (front.kind == Kind::number) {
            front.first += taken * front.step;
        }
    }
}

void CursorTracker::take_value(const Span& from, std::uint64_t taken) {
    if (from.stream != stream_) {
        stream_ = from.stream;
        value_kind_ = Kind::none;
    }
    if (from.kind == Kind::none) {
        return;
    }
    value_kind_ = from.kind;
    if (from.kind == Kind::number) {
        value_number_ = from.first + (taken - 1) * from.step;
    } else {
        value_text_.assign(kept_text(from));
    }
}

void CursorTracker::add_island(std::uint64_t first, std::uint64_t last) {
    // The islands that touch or overlap [first, last] become one with it.
    const auto begin = std::lower_bound(islands_.begin(), islands_.end(), first,
                                        [](const Range& range, std::uint64_t at) { return range.last + 1 < at; });
    auto end = begin;
    while (end != islands_.end() && end->first <= last + 1) {
        first = std::min(first, end->first);
        last = std::max(last, end->last);
        ++end;
    }
    if (begin == end) {
        islands_.insert(begin, Range{first, last});
        return;
    }
    *begin = Range{first, last};
    islands_.erase(begin + 1, end);
}

void CursorTracker::absorb_islands() {
    auto island = islands_.begin();
    for (; island != islands_.end() && island->first <= acked_ + 1; ++island) {
        if (island->last > acked_) {
            advance_to(island->last);
        }
    }
    islands_.erase(islands_.begin(), island);
}

std::optional<Cursor> CursorTracker::cursor() const {
    if (acked_ == 0) {
        return resume_point_ ? std::optional{*resume_point_} : std::nullopt;
    }
    Cursor cursor{
        .sequence_id = sequence_id_, .epoch = epoch_, .ordinal = acked_, .stream = stream_, .value = std::string{}};
    if (value_kind_ == Kind::number) {
        cursor.value = std::to_string(value_number_);
    } else if (value_kind_ == Kind::text) {
        cursor.value = value_text_;
    }
    return cursor;
}

void CursorTracker::mark(std::uint64_t ordinal, Instant received_at) {
    if (!marks_.empty()) {
        const Duration age = received_at - marks_.front().received_at;
        if (received_at - marks_.back().received_at < std::max(mark_distance_min, age / 8)) {
            return;
        }
    }
    if (marks_.size() == marks_max) {
        // The one whose neighbours are nearest to each other is missed least.
        std::size_t dropped = 1;
        Duration nearest = Duration::max();
        for (std::size_t i = 1; i + 1 < marks_.size(); ++i) {
            const Duration distance = marks_[i + 1].received_at - marks_[i - 1].received_at;
            if (distance < nearest) {
                nearest = distance;
                dropped = i;
            }
        }
        marks_.erase(marks_.begin() + static_cast<std::ptrdiff_t>(dropped));
    }
    marks_.push_back(Mark{ordinal, received_at});
}

void CursorTracker::drop_marks() {
    if (pending() == 0) {
        marks_.clear();
        if (marks_.capacity() > marks_kept) {
            marks_.shrink_to_fit();
        }
        return;
    }
    std::size_t dropped = 0;
    while (dropped + 1 < marks_.size() && marks_[dropped + 1].ordinal <= acked_ + 1) {
        ++dropped;
    }
    marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(dropped));
}

std::optional<Instant> CursorTracker::oldest_pending() const {
    if (pending() == 0) {
        return std::nullopt;
    }
    return marks_.front().received_at;
}

void CursorTracker::give_back_memory() {
    size_peak_ -= size_peak_ / 8;
    text_peak_ -= text_peak_ / 8;
    if (spans_.size() > capacity_kept && spans_.size() > size_peak_ * 8) {
        resize(spans_.size() / 4);
    }
    if (text_.capacity() > text_kept && text_.capacity() > text_peak_ * 8) {
        std::string smaller;
        smaller.reserve(text_.capacity() / 4);
        text_ = std::move(smaller);
    }
    if (islands_.empty() && islands_.capacity() > capacity_kept) {
        islands_.shrink_to_fit();
    }
}

std::size_t CursorTracker::memory() const {
    return spans_.capacity() * sizeof(Span) + text_.capacity() + value_text_.capacity() +
           islands_.capacity() * sizeof(Range) + marks_.capacity() * sizeof(Mark) +
           (resume_point_ ? sizeof(Cursor) : 0);
}

}  // namespace longhold::core
