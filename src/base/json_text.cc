// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/base/json_text.h>

#include <array>
#include <charconv>
#include <cmath>

namespace longhold {
namespace {

// 1 for bytes that a JSON string cannot hold as they are.
constexpr std::array<bool, 256> must_escape = [] {
    std::array<bool, 256> table{};
    for (std::size_t i = 0; i < 0x20; ++i) {
        table[i] = true;
    }
    table['"'] = true;
    table['\\'] = true;
    return table;
}();

void append_escape(std::string& out, unsigned char c) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        case '\b':
            out += "\\b";
            return;
        case '\f':
            out += "\\f";
            return;
        default:
            out += "\\u00";
            out += hex[c >> 4U];
            out += hex[c & 15U];
    }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    std::size_t clean_from = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (must_escape[c]) {
            out.append(text, clean_from, i - clean_from);
            append_escape(out, c);
            clean_from = i + 1;
        }
    }
    out.append(text, clean_from, text.size() - clean_from);
    out += '"';
}

void append_base64(std::string& out, std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto byte = [bytes](std::size_t i) {
        return i < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) : 0U;
    };
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t group = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
        out += alphabet[group >> 18U];
        out += alphabet[group >> 12U & 63U];
        out += i + 1 < bytes.size() ? alphabet[group >> 6U & 63U] : '=';
        out += i + 2 < bytes.size() ? alphabet[group & 63U] : '=';
    }
}

void JsonWriter::separate() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (first_.empty()) {
        return;
    }
    if (!first_.back()) {
        text_ += ',';
    }
    first_.back() = false;
    if (indent_ > 0) {
        text_ += '\n';
        text_.append(first_.size() * static_cast<std::size_t>(indent_), ' ');
    }
}

void JsonWriter::close(char bracket) {
    invariant(!first_.empty() && !after_key_, "a JSON end matches a begin");
    const bool empty = first_.back();
    first_.pop_back();
    if (indent_ > 0 && !empty) {
        text_ += '\n';
        text_.append(first_.size() * static_cast<std::size_t>(indent_), ' ');
    }
    text_ += bracket;
}

JsonWriter& JsonWriter::begin_object() {
    separate();
    text_ += '{';
    first_.push_back(true);
    return *this;
}

JsonWriter& JsonWriter::end_object() {
    close('}');
    return *this;
}

JsonWriter& JsonWriter::begin_array() {
    separate();
    text_ += '[';
    first_.push_back(true);
    return *this;
}

JsonWriter& JsonWriter::end_array() {
    close(']');
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    append_json_string(text_, name);
    text_ += indent_ > 0 ? ": " : ":";
    after_key_ = true;
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
    separate();
    append_json_string(text_, text);
    return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
    return raw(flag ? "true" : "false");
}

JsonWriter& JsonWriter::value(std::int64_t number) {
    return raw(std::to_string(number));
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
    return raw(std::to_string(number));
}

JsonWriter& JsonWriter::value(double number) {
    if (!std::isfinite(number)) {
        return null();
    }
    std::array<char, 32> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return raw({buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())});
}

JsonWriter& JsonWriter::null() {
    return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
}

}  // namespace longhold
