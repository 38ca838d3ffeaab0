// SPDX-License-Identifier: Apache-2.0
// The records that a connection writes besides data: gaps (messages known or suspected lost) and
// state (its own news), as the JSON members that follow `kind` in the record.
//
//   gap    "reason":"sequence_hole","from":"8","to":"11"     either end is left out when unknown
//   state  "reason":"claimed","resume":{"epoch":2,"ordinal":9,"stream":1,"value":"7"}   or null
//   state  "reason":"sequence_restart"
//
// A gap's ends belong to the numbering of the stream that the record is in, and both are lost.
// Where values have no order, `from` is the last value that was had.
#pragma once

#include <longhold/core/rows.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::core {

enum class NoteKind : std::uint8_t { gap, state };

enum class NoteReason : std::uint8_t {
    claimed,           // state: an epoch begins; names where it resumes from
    sequence_hole,     // gap: the upstream skipped numbers
    sequence_restart,  // state: the upstream began to count anew; gap: what that may have cost
    no_replay,         // gap: the upstream cannot send again what was missed between two sockets
    no_cursor,         // gap: it could, but nothing durable says from where
    spec_change,       // state: the spec now names another sequence; gap: what the former one still had
    dropped,           // gap: dropped here, by the overflow policy
    unacked,           // gap: received, not durable in time, and not to be had again
};

// As records and metrics name it.
[[nodiscard]] std::string_view text(NoteReason reason);

// One such record, to be written before the message that made it, in this stream.
struct Note {
    NoteKind kind = NoteKind::state;
    NoteReason reason = NoteReason::claimed;
    std::uint32_t stream = 1;
    std::string members;  // JSON members without braces: the record's body

    friend bool operator==(const Note&, const Note&) = default;
};

// `from` and `to`: the first and the last value lost, where known. Requires valid UTF-8.
[[nodiscard]] Note gap_note(NoteReason reason, std::uint32_t stream, std::optional<std::string_view> from,
                            std::optional<std::string_view> to);

// Requires a reason other than claimed.
[[nodiscard]] Note state_note(NoteReason reason, std::uint32_t stream);

// The first record of an epoch.
[[nodiscard]] Note claimed_note(std::uint32_t stream, const std::optional<Cursor>& resume_point);

}  // namespace longhold::core
