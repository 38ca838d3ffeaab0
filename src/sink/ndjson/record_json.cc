// SPDX-License-Identifier: Apache-2.0
#include "record_json.h"

#include <longhold/base/wall_time_text.h>
#include <longhold/sink/ndjson/encoder.h>
#include <simdjson.h>

#include <limits>

#include "line_reader.h"

namespace longhold::sink {
namespace {

namespace json = simdjson::ondemand;

static_assert(LineReader::padding >= simdjson::SIMDJSON_PADDING);

// Which of the members that every record has were seen.
struct Seen {
    bool connection = false;
    bool epoch = false;
    bool ordinal = false;
    bool stream = false;
    bool kind = false;
    bool received_at = false;

    [[nodiscard]] const char* missing() const {
        return !connection    ? "connection"
               : !epoch       ? "epoch"
               : !ordinal     ? "ordinal"
               : !stream      ? "stream"
               : !kind        ? "kind"
               : !received_at ? "received_at"
                              : nullptr;
    }
};

using Outcome = std::expected<void, std::string>;

Outcome wrong(std::string_view member, std::string_view what) {
    return std::unexpected("has a '" + std::string{member} + "' that " + std::string{what});
}

Outcome read_text(json::value value, std::string_view member, std::string& into) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
        return wrong(member, "is not a string");
    }
    into = text;
    return {};
}

Outcome read_number(json::value value, std::string_view member, std::uint64_t max, std::uint64_t& into) {
    if (value.get_uint64().get(into) != simdjson::SUCCESS || into > max) {
        return wrong(member, "is not a whole number in its range");
    }
    return {};
}

// A sequence: a string, or a number of any size, whose digits are kept as they are.
Outcome read_sequence(json::value value, std::string_view member, std::string& into, bool& is_text) {
    json::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
        return wrong(member, "is no JSON value");
    }
    is_text = type == json::json_type::string;
    if (is_text) {
        return read_text(value, member, into);
    }
    std::string_view token = value.raw_json_token();
    while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\r')) {
        token.remove_suffix(1);
    }
    if (!is_json_number(token)) {
        return wrong(member, "is neither a string nor a number");
    }
    into = token;
    return {};
}

Outcome read_kind(json::value value, RecordKind& into) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        for (const auto& [name, kind] : {std::pair{"data", RecordKind::data}, std::pair{"gap", RecordKind::gap},
                                         std::pair{"state", RecordKind::state}}) {
            if (text == name) {
                into = kind;
                return {};
            }
        }
    }
    return wrong("kind", "is none of data, gap, state");
}

Outcome read_time(json::value value, WallTime& into) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        if (const auto time = parse_rfc3339(text)) {
            into = *time;
            return {};
        }
    }
    return wrong("received_at", "is no time as 2026-11-30T08:00:00.123456Z");
}

Outcome read_resume_member(std::string_view name, json::value value, core::Cursor& cursor) {
    if (name == "epoch") {
        return read_number(value, "resume.epoch", std::numeric_limits<std::uint64_t>::max(), cursor.epoch.value);
    }
    if (name == "ordinal") {
        return read_number(value, "resume.ordinal", std::numeric_limits<std::uint64_t>::max(), cursor.ordinal);
    }
    if (name == "stream") {
        std::uint64_t stream = 0;
        auto outcome = read_number(value, "resume.stream", std::numeric_limits<std::uint32_t>::max(), stream);
        cursor.stream = static_cast<std::uint32_t>(stream);
        return outcome;
    }
    if (name == "value") {
        return read_text(value, "resume.value", cursor.value);
    }
    return {};
}

// Calls `each` with every member of `object`.
template <class Each>
Outcome for_each_member(json::object object, Each each) {
    for (auto field : object) {
        std::string_view name;
        json::value value;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) {
            return std::unexpected("is not JSON");
        }
        if (auto outcome = each(name, value); !outcome) {
            return outcome;
        }
    }
    return {};
}

Outcome read_resume(json::value value, ReadRecord& record) {
    record.has_resume = true;
    json::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
        return wrong("resume", "is no JSON value");
    }
    if (type == json::json_type::null) {
        return {};
    }
    json::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
        return wrong("resume", "is neither an object nor null");
    }
    record.resume.emplace();
    return for_each_member(object, [&](std::string_view name, json::value member) {
        return read_resume_member(name, member, *record.resume);
    });
}

Outcome read_place(std::string_view name, json::value value, ReadRecord& record, Seen& seen) {
    if (name == "epoch") {
        seen.epoch = true;
        return read_number(value, name, std::numeric_limits<std::uint64_t>::max(), record.epoch.value);
    }
    if (name == "ordinal") {
        seen.ordinal = true;
        return read_number(value, name, std::numeric_limits<std::uint64_t>::max(), record.ordinal);
    }
    seen.stream = true;
    std::uint64_t stream = 0;
    auto outcome = read_number(value, name, std::numeric_limits<std::uint32_t>::max(), stream);
    record.stream = static_cast<std::uint32_t>(stream);
    return outcome;
}

Outcome read_member(std::string_view name, json::value value, ReadRecord& record, Seen& seen) {
    bool ignored = false;
    if (name == "connection") {
        seen.connection = true;
        std::string id;
        auto outcome = read_text(value, name, id);
        record.connection = ConnectionId{std::move(id)};
        return outcome;
    }
    if (name == "epoch" || name == "ordinal" || name == "stream") {
        return read_place(name, value, record, seen);
    }
    if (name == "seq") {
        return read_sequence(value, name, record.seq, record.seq_is_text);
    }
    if (name == "received_at") {
        seen.received_at = true;
        return read_time(value, record.received_at);
    }
    if (name == "kind") {
        seen.kind = true;
        return read_kind(value, record.kind);
    }
    if (name == "data" || name == "data_base64") {
        record.binary = name == "data_base64";
        return read_text(value, name, record.data);
    }
    if (name == "reason") {
        return read_text(value, name, record.reason);
    }
    if (name == "from" || name == "to") {
        return read_sequence(value, name, name == "from" ? record.from : record.to, ignored);
    }
    if (name == "resume") {
        return read_resume(value, record);
    }
    return {};
}

}  // namespace

struct RecordParser::Impl {
    json::parser parser;
};

RecordParser::RecordParser() : impl_(std::make_unique<Impl>()) {}

RecordParser::~RecordParser() = default;

std::expected<void, std::string> RecordParser::parse(std::string_view line, ReadRecord& record) {
    ReadRecord fresh;
    fresh.file = std::move(record.file);
    fresh.line = record.line;
    record = std::move(fresh);
    json::document document;
    json::object object;
    if (impl_->parser.iterate(line.data(), line.size(), line.size() + LineReader::padding).get(document) !=
        simdjson::SUCCESS) {
        return std::unexpected("is not JSON");
    }
    if (document.get_object().get(object) != simdjson::SUCCESS) {
        return std::unexpected("is not a JSON object");
    }
    Seen seen;
    auto outcome = for_each_member(
        object, [&](std::string_view name, json::value value) { return read_member(name, value, record, seen); });
    if (!outcome) {
        return outcome;
    }
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS) {
        return std::unexpected("goes on behind the record's end");
    }
    if (const char* const name = seen.missing()) {
        return std::unexpected("has no '" + std::string{name} + "'");
    }
    return {};
}

}  // namespace longhold::sink
