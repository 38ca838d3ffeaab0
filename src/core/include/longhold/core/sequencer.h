// SPDX-License-Identifier: Apache-2.0
// Sequencer: follows one connection's sequence, and says of each data message what becomes of it and
// what is missing before it (DESIGN sections 3, G2 and G3, and 5).
//
// Pure state machine: no I/O, no clock. The caller opens sockets, asks the upstream to resume where
// it was told to, classifies messages, and writes what is decided, in order.
//
// How numbers are read, L being the last one of the stream and n the message's:
//   n = L + 1   goes on.
//   n > L + 1   a hole: gap record, delivered. Where numbers only rise: goes on, unless nothing could be
//               replayed since L.
//   n = L       sent again: delivered again in the same stream, so that its key says so; but on a new
//               socket it is dropped when the upstream was asked to begin with L and L was had, and is
//               a restart when it was not asked to.
//   n < L       the upstream began to count anew: a new stream, so that no key is used twice. If it
//               can replay and its first number is known, the caller is asked to reconnect from there.
// A value that is not a 64-bit number is opaque: only its equality with what was asked for is used.
//
// Thread-safety: none; lives on its connection's I/O thread, one for each epoch.
#pragma once

#include <longhold/core/notes.h>
#include <longhold/core/rows.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

// What a cursor means to the upstream: send what follows it, or begin with it.
enum class Resume : std::uint8_t { none, exclusive, inclusive };

// What the profile says of the upstream's sequence.
struct SequenceRule {
    bool has_sequence = false;
    std::optional<std::uint64_t> first{};  // the number that a new numbering begins with, where known
    Resume resume = Resume::none;          // none where there is no sequence
    bool by_one = true;  // each number is the former one + 1; false: they only rise, and holes mean nothing
};

// What makes two specs count the same sequence. Texts as in the spec: secret references unresolved,
// so that a new secret is no new sequence.
struct SequenceIdentity {
    std::string url;
    std::string sequence_field;
};

// The identity as a number that a cursor carries, so that any later owner can tell whether the cursor means anything
// under its spec. The whole URL counts, since a path or a query often names what is counted; headers, messages, limits
// and liveness do not. 53 bits, never 0. Stable like stable_hash().
[[nodiscard]] std::uint64_t sequence_id(const SequenceIdentity& identity);

// How an epoch begins.
struct SequencerStart {
    std::optional<Cursor> resume_point{};
    bool held_before = false;   // the connection had an owner before, so that something may be missing
    bool spec_changed = false;  // incompatibly, since the resume point: a new stream begins
};

enum class Action : std::uint8_t {
    deliver,
    drop,       // a duplicate that is known to be durable or on its way to it
    reconnect,  // not delivered: close this socket, and resume from resume_value() on a new one
};

struct Decision {
    Action action = Action::deliver;
    bool with_seq = false;      // the record carries the message's sequence value
    bool redelivered = false;   // its number was delivered before in this stream
    std::uint32_t stream = 1;   // of the record
    std::vector<Note> notes{};  // to be written before it, whatever the action
};

// Since the epoch began.
struct SequenceCounts {
    std::uint64_t without_seq = 0;  // although the profile has one
    std::uint64_t redelivered = 0;
    std::uint64_t dropped = 0;
    std::uint64_t gaps = 0;
    std::uint64_t restarts = 0;
    std::uint64_t replays_asked = 0;  // reconnects for a restart's beginning

    friend bool operator==(const SequenceCounts&, const SequenceCounts&) = default;
};

class Sequencer {
public:
    // A resume point implies held_before.
    Sequencer(SequenceRule rule, SequencerStart start);

    // The epoch's first records: `claimed`, and `spec_change` with its gap. Call once, first.
    [[nodiscard]] std::vector<Note> begin();

    // What the next socket should ask the upstream to resume from: behind the last message received,
    // which is in the sink's hands. Nothing where there is nothing to ask for.
    [[nodiscard]] std::optional<std::string> resume_value() const;

    // A new socket is ready for messages, and was asked to resume from `asked`: resume_value(), or an
    // earlier value when what was received since will not become durable. Returns what to write now.
    [[nodiscard]] std::vector<Note> opened(std::optional<std::string_view> asked);

    // A data message; `seq` is empty when it has none. Requires opened(). Does not allocate for a
    // message that goes on.
    [[nodiscard]] Decision on_message(std::string_view seq);

    [[nodiscard]] std::uint32_t stream() const { return stream_; }

    [[nodiscard]] const SequenceCounts& counts() const { return counts_; }

private:
    enum class Place : std::uint8_t { unknown, number, text };

    [[nodiscard]] Decision on_number(std::uint64_t number);
    [[nodiscard]] Decision on_number_after(std::uint64_t number, bool new_socket, bool loss);
    [[nodiscard]] Decision on_text(std::string_view seq);
    [[nodiscard]] Decision restart(std::uint64_t number, bool new_socket);
    [[nodiscard]] bool begins_numbering(std::uint64_t number) const;
    [[nodiscard]] bool can_replay_from_first() const;
    [[nodiscard]] NoteReason loss_reason() const;
    [[nodiscard]] std::optional<std::string> next_expected() const;
    void place_at(std::string_view asked);
    void begin_stream();
    void accept(std::uint64_t number, Decision& decision);
    void add_gap(std::vector<Note>& notes, NoteReason reason, std::optional<std::string> from,
                 std::optional<std::uint64_t> before);

    SequenceRule rule_;
    std::unique_ptr<SequencerStart> start_;  // until begin()
    std::uint32_t stream_ = 1;

    // The last value of the stream that was received, or with had_ false the one expected next.
    Place place_ = Place::unknown;
    std::uint64_t number_ = 0;
    std::string text_;
    bool had_ = false;
    std::optional<std::uint64_t> delivered_;  // highest number of the stream that was delivered

    bool life_before_ = false;  // something may have been sent before this socket
    bool new_socket_ = false;   // no message with a value on it yet
    bool resumed_ = false;      // it was asked to resume
    bool loss_open_ = false;    // what came between the sockets is not accounted for yet
    bool replay_next_ = false;  // the next one is opened for a restart's beginning
    // This socket was opened for a replay, so it asks for no other: an upstream that sends the same numbers out of
    // order at each replay would have it begin again for ever. What is missing then is a gap record.
    bool replaying_ = false;

    SequenceCounts counts_;
};

}  // namespace longhold::core
