// SPDX-License-Identifier: Apache-2.0
#include "profile_try_printer.h"

#include <longhold/base/json_text.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/core/sequence_number.h>
#include <longhold/sink/ndjson/encoder.h>

#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "printable.h"

namespace longhold::app {
namespace {

constexpr std::size_t gathered_max = 65'536;

core::SequencerStart start_of(const TryPrinterOptions& options) {
    core::SequencerStart start;
    if (options.cursor && options.rule.has_sequence && options.rule.resume != core::Resume::none) {
        auto& point = start.resume_point.emplace();
        point.stream = 1;
        point.value = *options.cursor;
    }
    return start;
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

std::string counted(std::uint64_t count, std::string_view thing) {
    return std::to_string(count) + " " + std::string{thing} + (count == 1 ? "" : "s");
}

std::string fixed(double number, int digits) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
    return {text.data(), end.ptr};
}

}  // namespace

TryPrinter::TryPrinter(TryPrinterOptions options, Console& console, const runtime::Clock& clock)
    : options_(std::move(options)),
      console_(console),
      clock_(clock),
      terminal_(console.output_is_terminal()),
      sequencer_(options_.rule, start_of(options_)),
      started_(clock.now()) {
    static_cast<void>(sequencer_.begin());
}

void TryPrinter::say(const std::string& text) {
    flush();
    console_.write_error("# " + text + "\n");
}

std::string TryPrinter::after() const {
    return " (" + fixed(seconds(clock_.now() - started_) * 1000, 0) + " ms)";
}

void TryPrinter::stage(upstream::Stage stage, std::string_view detail) {
    const std::string text = printable(detail);
    switch (stage) {
        case upstream::Stage::resolving:
            return say("resolving " + text);
        case upstream::Stage::connecting:
            return say("connecting to " + text);
        case upstream::Stage::connected:
            return say("connected to " + text + after());
        case upstream::Stage::secured:
            return say("TLS: " + text + after());
    }
    std::unreachable();
}

void TryPrinter::opened(const std::string& subprotocol) {
    opened_ = clock_.now();
    say("upgraded: HTTP 101, " + (subprotocol.empty() ? "no subprotocol" : "subprotocol " + subprotocol) + after());
    std::optional<std::string_view> asked;
    if (options_.cursor) {
        asked = *options_.cursor;
        say("asked to resume from " + printable(*options_.cursor));
    }
    say_notes(sequencer_.opened(asked));
}

void TryPrinter::sent(std::size_t messages, std::size_t bytes) {
    if (messages > 0) {
        say("sent " + counted(messages, "opening message") + ", " + counted(bytes, "byte"));
    }
}

void TryPrinter::message(const upstream::Message& message) {
    ++messages_;
    bytes_ += message.data.size();
    upstream::SequenceValue seq;
    if (options_.rule.has_sequence && !message.binary) {
        seq = values_.read(message.data, options_.sequence_field);
    }
    follow_sequence(seq.text);
    if (options_.ndjson) {
        append_json(message, seq);
    } else {
        append_text(message);
    }
    if (text_.size() >= gathered_max) {
        flush();
    }
}

void TryPrinter::follow_sequence(std::string_view seq) {
    auto decision = sequencer_.on_message(seq);
    say_notes(decision.notes);
    if (decision.action == core::Action::reconnect) {
        say("a worker would connect anew here, to have the new numbering from its beginning");
        say_notes(sequencer_.opened(std::nullopt));
        decision = sequencer_.on_message(seq);
        say_notes(decision.notes);
    }
    if (decision.action == core::Action::drop || decision.redelivered) {
        say("sent again: " + printable(seq));
    }
    if (!seq.empty()) {
        if (first_seq_.empty()) {
            first_seq_ = seq;
        }
        last_seq_ = seq;
    }
}

void TryPrinter::say_notes(const std::vector<core::Note>& notes) {
    for (const auto& note : notes) {
        if (note.kind == core::NoteKind::gap) {
            say_gap(note);
        } else {
            say("sequence: the upstream began to count anew; stream " + std::to_string(note.stream));
        }
    }
}

void TryPrinter::say_gap(const core::Note& note) {
    const std::string members = "{" + note.members + "}";
    const std::string from{notes_.read(members, "/from").text};
    const std::string to{notes_.read(members, "/to").text};
    std::string text = "gap: " + std::string{core::text(note.reason)};
    text += from.empty() ? "" : ", from " + printable(from);
    text += to.empty() ? "" : (from.empty() ? ", up to " : " to ") + printable(to);
    const auto first = core::sequence_number(from);
    const auto last = core::sequence_number(to);
    if (first && last && *last >= *first) {
        missing_ += *last - *first + 1;
        text += " (" + counted(*last - *first + 1, "message") + ")";
    }
    say(text);
}

void TryPrinter::append_json(const upstream::Message& message, const upstream::SequenceValue& seq) {
    text_ += "{\"received_at\":\"" + format_rfc3339(clock_.wall_now()) + "\"";
    if (!seq.text.empty()) {
        text_ += ",\"seq\":";
        if (!seq.is_text && sink::is_json_number(seq.text)) {
            text_ += seq.text;
        } else {
            append_json_string(text_, seq.text);
        }
    }
    text_ += ",\"size\":" + std::to_string(message.data.size());
    if (message.binary) {
        text_ += ",\"data_base64\":\"";
        append_base64(text_, message.data);
        text_ += "\"}\n";
    } else {
        text_ += ",\"data\":";
        append_json_string(text_, message.data);
        text_ += "}\n";
    }
}

void TryPrinter::append_text(const upstream::Message& message) {
    if (message.binary) {
        text_ += "base64:";
        append_base64(text_, message.data);
    } else if (terminal_) {
        text_ += printable(message.data);
    } else {
        text_ += message.data;
    }
    text_ += '\n';
}

void TryPrinter::flush() {
    if (!text_.empty()) {
        console_.write(text_);
        text_.clear();
    }
}

void TryPrinter::summary() {
    const double lasted = seconds(clock_.now() - opened_);
    const double rate = lasted > 0 ? static_cast<double>(messages_) / lasted : 0;
    say(counted(messages_, "message") + ", " + counted(bytes_, "byte") + " in " + fixed(lasted, 3) + " s (" +
        fixed(rate, 1) + " per second); " + sequence_summary());
}

std::string TryPrinter::sequence_summary() const {
    if (!options_.rule.has_sequence) {
        return "gaps are not seen: sequence.field is not set";
    }
    const core::SequenceCounts& counts = sequencer_.counts();
    std::string text =
        first_seq_.empty() ? "no sequence value" : "sequence " + printable(first_seq_) + " to " + printable(last_seq_);
    text += ", " + counted(counts.gaps, "gap");
    text += missing_ > 0 ? " (" + counted(missing_, "message") + " missing)" : "";
    text += counts.restarts > 0 ? ", " + counted(counts.restarts, "restart") : "";
    const std::uint64_t again = counts.redelivered + counts.dropped;
    text += again > 0 ? ", " + std::to_string(again) + " sent again" : "";
    text += counts.without_seq > 0 ? ", " + std::to_string(counts.without_seq) + " without a sequence value" : "";
    return text;
}

}  // namespace longhold::app
