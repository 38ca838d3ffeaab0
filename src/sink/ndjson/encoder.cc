// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/sink/ndjson/encoder.h>

#include <algorithm>
#include <charconv>

namespace longhold::sink {
namespace {

template <class Number>
void append_number(std::string& out, Number number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out.append(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
}

std::size_t count_digits(std::string_view text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
}

void append_kind(std::string& out, RecordKind kind) {
    switch (kind) {
        case RecordKind::data:
            out += "\",\"kind\":\"data\"";
            return;
        case RecordKind::gap:
            out += "\",\"kind\":\"gap\"";
            return;
        case RecordKind::state:
            out += "\",\"kind\":\"state\"";
            return;
    }
}

// A newline between JSON members is only white space, but here it would end the line.
void append_members(std::string& out, std::string_view members) {
    if (members.empty()) {
        return;
    }
    out += ',';
    const std::size_t from = out.size();
    out += members;
    std::replace(out.begin() + static_cast<std::ptrdiff_t>(from), out.end(), '\n', ' ');
}

}  // namespace

bool is_json_number(std::string_view text) {
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const std::size_t whole = count_digits(text);
    if (whole == 0 || (whole > 1 && text.front() == '0')) {
        return false;
    }
    text.remove_prefix(whole);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        const std::size_t fraction = count_digits(text);
        if (fraction == 0) {
            return false;
        }
        text.remove_prefix(fraction);
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('+') || text.starts_with('-')) {
            text.remove_prefix(1);
        }
        return !text.empty() && count_digits(text) == text.size();
    }
    return text.empty();
}

void Encoder::append(std::string& out, const RecordBatch& batch) {
    ++batch_;
    for (const RecordHeader& header : batch.records()) {
        append_record(out, batch, header);
    }
}

const std::string& Encoder::prefix_of(const Origin& origin) {
    // Origins are allocated apart, so the low bits of their addresses say little.
    const auto address = reinterpret_cast<std::uintptr_t>(&origin);
    Prefix& prefix = prefixes_[(address >> 5U ^ address >> 11U) % prefixes_.size()];
    if (prefix.origin != &origin || prefix.batch != batch_) {
        prefix.origin = &origin;
        prefix.batch = batch_;
        prefix.text = "{\"connection\":";
        append_json_string(prefix.text, origin.connection.text());
        prefix.text += ",\"epoch\":";
        append_number(prefix.text, origin.epoch.value);
        prefix.text += ",\"ordinal\":";
    }
    return prefix.text;
}

void Encoder::append_record(std::string& out, const RecordBatch& batch, const RecordHeader& header) {
    out += prefix_of(*header.origin);
    append_number(out, header.ordinal);
    out += ",\"stream\":";
    append_number(out, header.stream);
    if (header.seq_size > 0) {
        const std::string_view seq = batch.seq(header);
        out += ",\"seq\":";
        if (header.seq_is_text || !is_json_number(seq)) {
            append_json_string(out, seq);
        } else {
            out += seq;
        }
    }
    out += ",\"received_at\":\"";
    append_time(out, header.received_at);
    append_kind(out, header.kind);
    if (header.kind != RecordKind::data) {
        append_members(out, batch.body(header));
    } else if (header.binary) {
        out += ",\"data_base64\":\"";
        append_base64(out, batch.body(header));
        out += '"';
    } else {
        out += ",\"data\":";
        append_json_string(out, batch.body(header));
    }
    out += "}\n";
}

void Encoder::append_time(std::string& out, WallTime time) {
    constexpr std::size_t fraction_at = 20;
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    if (second != second_) {
        second_ = second;
        format_rfc3339(time, time_text_.data());
    } else {
        auto micros = static_cast<std::uint64_t>((time - second).count());
        for (std::size_t i = fraction_at + 6; i-- > fraction_at;) {
            time_text_[i] = static_cast<char>('0' + micros % 10);
            micros /= 10;
        }
    }
    out.append(time_text_.data(), time_text_.size());
}

}  // namespace longhold::sink
