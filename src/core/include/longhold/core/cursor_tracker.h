// SPDX-License-Identifier: Apache-2.0
// CursorTracker: how far delivery of one connection in one epoch is durable.
//
// Every record handed to the sink is noted, every ack is noted, in whatever order acks come; the
// cursor moves only over records that are acked without a hole (DESIGN section 5, invariant I4).
//
// Memory: runs of records, not records. Records without a sequence, with the same value, or with
// numbers at a constant distance share one 32-byte span; a number out of step begins another.
// Opaque values are kept once each in one text. Nothing is allocated for a record while the
// number of spans stays where it was, and what a backlog took is given back once it is gone.
//
// Thread-safety: none; lives on its connection's I/O thread.
#pragma once

#include <longhold/base/time.h>
#include <longhold/core/rows.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

class CursorTracker {
public:
    // `resume_point` is the cursor that the claim returned; its epoch is below `epoch`.
    CursorTracker(std::uint64_t sequence_id, Epoch epoch, std::optional<Cursor> resume_point);

    // Notes a record handed to the sink. Requires ordinals that rise by one from 1. `seq` is empty
    // for a record that has none: it moves the ordinal and not the value. `received_at` never falls.
    void sent(std::uint64_t ordinal, std::uint32_t stream, std::string_view seq, Instant received_at);

    // Notes that the records `first` to `last` are durable. Requires first <= last, both sent. What
    // was acked before is ignored.
    void acked(std::uint64_t first, std::uint64_t last);

    // What the values count is known now: see core::sequence_id().
    void set_sequence_id(std::uint64_t sequence_id) { sequence_id_ = sequence_id; }

    // The point to resume from: the last record up to which all are acked, with the last sequence
    // value at or before it in its stream; until a record is acked, the resume point.
    [[nodiscard]] std::optional<Cursor> cursor() const;

    // The cursor's ordinal in this epoch; 0 until a record is acked. Cheap: compare before cursor().
    [[nodiscard]] std::uint64_t ordinal_acked() const { return acked_; }

    [[nodiscard]] std::uint64_t ordinal_sent() const { return sent_; }

    // Records sent that the cursor has not passed, among them those acked beyond a hole.
    [[nodiscard]] std::uint64_t pending() const { return sent_ - acked_; }

    // When the oldest pending record was received. May say a time too early, never too late, by at
    // most 10 ms or a quarter of the age of the oldest backlog that is still being worked off.
    [[nodiscard]] std::optional<Instant> oldest_pending() const;

    // Bytes on the heap.
    [[nodiscard]] std::size_t memory() const;

private:
    enum class Kind : std::uint8_t { none, number, text };

    // `count` records in a row. number: values are first, first + step, …; text: each has the value
    // at offset `first` (counted over all text ever kept) of size `step`.
    struct Span {
        std::uint64_t count = 0;
        std::uint64_t first = 0;
        std::uint64_t step = 0;
        std::uint32_t stream = 0;
        Kind kind = Kind::none;
    };

    struct Range {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };

    struct Mark {
        std::uint64_t ordinal = 0;
        Instant received_at{};
    };

    [[nodiscard]] Span& span(std::size_t index) { return spans_[(head_ + index) & (spans_.size() - 1)]; }

    [[nodiscard]] std::string_view kept_text(const Span& span) const {
        return std::string_view{text_}.substr(span.first - text_begin_, span.step);
    }

    bool extend_last(std::uint32_t stream, Kind kind, std::uint64_t number, std::string_view seq);
    void push(const Span& added);
    void pop_front();
    void resize(std::size_t capacity);
    void advance_to(std::uint64_t ordinal);
    void take_value(const Span& from, std::uint64_t taken);
    void add_island(std::uint64_t first, std::uint64_t last);
    void absorb_islands();
    void mark(std::uint64_t ordinal, Instant received_at);
    void drop_marks();
    void give_back_memory();

    std::uint64_t sequence_id_;
    Epoch epoch_;
    std::unique_ptr<const Cursor> resume_point_;  // until the first ack

    std::uint64_t sent_ = 0;
    std::uint64_t acked_ = 0;

    // The cursor's place.
    std::uint32_t stream_ = 1;
    Kind value_kind_ = Kind::none;
    std::uint64_t value_number_ = 0;
    std::string value_text_;

    // What lies behind the cursor: a ring of spans (capacity 0 or a power of two).
    std::vector<Span> spans_;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
    std::size_t size_peak_ = 0;  // decays each time the ring runs empty
    std::string text_;
    std::size_t text_peak_ = 0;     // decays likewise
    std::uint64_t text_begin_ = 0;  // offset of text_[0]

    std::vector<Range> islands_;  // acked beyond a hole: sorted, apart from each other

    // Some records with their times; the first is at or before the oldest pending one.
    std::vector<Mark> marks_;
};

}  // namespace longhold::core
