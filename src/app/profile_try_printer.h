// SPDX-License-Identifier: Apache-2.0
// TryPrinter: what `profile try` shows: messages on standard output, all else on standard error.
#pragma once

#include <longhold/core/sequencer.h>
#include <longhold/runtime/clock.h>
#include <longhold/upstream/connection.h>
#include <longhold/upstream/sequence_reader.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "console.h"

namespace longhold::app {

struct TryPrinterOptions {
    core::SequenceRule rule;
    std::string sequence_field;  // JSON pointer; empty: the upstream has no sequence
    std::optional<std::string> cursor;
    bool ndjson = false;
};

// Messages are gathered and printed at the end of a burst, or before anything that is said of them.
//
// Thread-safety: none. Lifetime: console and clock outlive it.
class TryPrinter {
public:
    TryPrinter(TryPrinterOptions options, Console& console, const runtime::Clock& clock);

    void stage(upstream::Stage stage, std::string_view detail);
    void opened(const std::string& subprotocol);
    void sent(std::size_t messages, std::size_t bytes);
    void message(const upstream::Message& message);
    void flush();
    // A line on standard error.
    void say(const std::string& text);
    // Messages, bytes, rate and gaps since opened().
    void summary();

    [[nodiscard]] std::uint64_t messages() const { return messages_; }

private:
    // " (12 ms)" since the start
    [[nodiscard]] std::string after() const;
    void follow_sequence(std::string_view seq);
    void say_notes(const std::vector<core::Note>& notes);
    void say_gap(const core::Note& note);
    void append_json(const upstream::Message& message, const upstream::SequenceValue& seq);
    void append_text(const upstream::Message& message);
    [[nodiscard]] std::string sequence_summary() const;

    TryPrinterOptions options_;
    Console& console_;
    const runtime::Clock& clock_;
    const bool terminal_;
    core::Sequencer sequencer_;
    upstream::SequenceReader values_;
    upstream::SequenceReader notes_;
    std::string text_;  // not yet printed
    Instant started_;
    Instant opened_{};
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t missing_ = 0;  // in gaps with both ends known
    std::string first_seq_;
    std::string last_seq_;
};

}  // namespace longhold::app
