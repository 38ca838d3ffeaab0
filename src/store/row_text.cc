// SPDX-License-Identifier: Apache-2.0
#include "row_text.h"

#include <longhold/base/json_text.h>
#include <simdjson.h>

namespace longhold::store {
namespace {

bool is_utf8(std::string_view text) {
    return simdjson::validate_utf8(text.data(), text.size());
}

// Takes the next element of an array, as long as there are any.
class Elements {
public:
    explicit Elements(simdjson::dom::array array) : next_(array.begin()), end_(array.end()) {}

    template <class T>
    bool take(T& out) {
        if (next_ == end_ || (*next_).get(out) != simdjson::SUCCESS) {
            return false;
        }
        ++next_;
        return true;
    }

private:
    simdjson::dom::array::iterator next_;
    simdjson::dom::array::iterator end_;
};

std::optional<core::CursorEntry> entry_from(simdjson::dom::element element) {
    simdjson::dom::array array;
    if (element.get(array) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    Elements elements{array};
    core::CursorEntry entry;
    std::string_view id;
    std::string_view value;
    std::uint64_t stream = 0;
    if (!elements.take(id) || !elements.take(entry.cursor.sequence_id) || !elements.take(entry.cursor.epoch.value) ||
        !elements.take(entry.cursor.ordinal) || !elements.take(stream) || !elements.take(value) ||
        stream > UINT32_MAX) {
        return std::nullopt;
    }
    entry.id = ConnectionId{id};
    entry.cursor.stream = static_cast<std::uint32_t>(stream);
    entry.cursor.value = value;
    return entry;
}

}  // namespace

bool storable(const PutConnection& verb) {
    if (verb.id.empty() || !is_utf8(verb.id.text()) || !is_utf8(verb.spec)) {
        return false;
    }
    for (const auto& [key, value] : verb.labels) {
        if (!is_utf8(key) || !is_utf8(value)) {
            return false;
        }
    }
    return true;
}

Result<void> storable(const core::CursorPage& page) {
    for (const core::CursorEntry& entry : page.entries) {
        if (!is_utf8(entry.id.text()) || !is_utf8(entry.cursor.value)) {
            return std::unexpected(
                Error{Errc::invalid, "the cursor of connection " + as_utf8(entry.id.text()) + " is not UTF-8 text"});
        }
    }
    return {};
}

std::string labels_text(const core::Labels& labels) {
    JsonWriter writer;
    writer.begin_object();
    for (const auto& [key, value] : labels) {
        writer.key(key).value(std::string_view{value});
    }
    writer.end_object();
    return writer.take();
}

std::string entries_text(const std::vector<core::CursorEntry>& entries) {
    JsonWriter writer;
    writer.begin_array();
    for (const core::CursorEntry& entry : entries) {
        const core::Cursor& cursor = entry.cursor;
        writer.begin_array().value(std::string_view{entry.id.text()}).value(cursor.sequence_id);
        writer.value(cursor.epoch.value).value(cursor.ordinal).value(cursor.stream);
        writer.value(std::string_view{cursor.value}).end_array();
    }
    writer.end_array();
    return writer.take();
}

bool is_json(std::string_view text) {
    simdjson::dom::parser parser;
    return parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS;
}

std::string as_utf8(std::string_view text) {
    if (is_utf8(text)) {
        return std::string{text};
    }
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t length = 1;
        while (length <= 4 && at + length <= text.size() && !is_utf8(text.substr(at, length))) {
            ++length;
        }
        if (length <= 4 && at + length <= text.size()) {
            out += text.substr(at, length);
            at += length;
        } else {
            out += "\xEF\xBF\xBD";
            ++at;
        }
    }
    return out;
}

struct RowTextReader::Impl {
    simdjson::dom::parser parser;
};

RowTextReader::RowTextReader() : impl_(std::make_unique<Impl>()) {}

RowTextReader::~RowTextReader() = default;

std::optional<core::Labels> RowTextReader::labels(std::string_view text) {
    core::Labels labels;
    if (text == "{}") {
        return labels;
    }
    simdjson::dom::object object;
    if (impl_->parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    for (const auto& field : object) {
        std::string_view value;
        if (field.value.get(value) != simdjson::SUCCESS) {
            return std::nullopt;
        }
        labels.emplace(field.key, value);
    }
    return labels;
}

std::optional<std::vector<core::CursorEntry>> RowTextReader::entries(std::string_view text) {
    simdjson::dom::array array;
    if (impl_->parser.parse(text.data(), text.size()).get(array) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    std::vector<core::CursorEntry> entries;
    for (const simdjson::dom::element element : array) {
        auto entry = entry_from(element);
        if (!entry) {
            return std::nullopt;
        }
        entries.push_back(std::move(*entry));
    }
    return entries;
}

}  // namespace longhold::store
