// SPDX-License-Identifier: Apache-2.0
// Writing JSON text: escaping, and a writer that puts the commas.
//
// Only writes; JSON is read by simdjson where it is needed. Appends to a caller's string, so hot
// paths reuse one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhold {

// Appends `text` as a JSON string with quotes (RFC 8259, section 7). Requires valid UTF-8, which is
// passed through.
void append_json_string(std::string& out, std::string_view text);

// Appends the standard base64 alphabet with padding (RFC 4648, section 4).
void append_base64(std::string& out, std::string_view bytes);

// Builds one JSON document. Requires well-formed use: a key before each value in an object, ends
// matching begins.
class JsonWriter {
public:
    // `indent` 0 writes one line.
    explicit JsonWriter(int indent = 0) : indent_(indent) {}

    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_array();
    JsonWriter& end_array();
    JsonWriter& key(std::string_view name);
    JsonWriter& value(std::string_view text);

    JsonWriter& value(const char* text) { return value(std::string_view{text}); }

    JsonWriter& value(bool flag);
    JsonWriter& value(std::int64_t number);
    JsonWriter& value(std::uint64_t number);

    JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }

    JsonWriter& value(std::uint32_t number) { return value(static_cast<std::uint64_t>(number)); }

    // Shortest form that reads back equal; NaN and infinities become null.
    JsonWriter& value(double number);
    JsonWriter& null();
    // Takes `json` as it is: one whole value that the caller knows to be valid.
    JsonWriter& raw(std::string_view json);

    [[nodiscard]] const std::string& text() const { return text_; }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void separate();
    void close(char bracket);

    std::string text_;
    std::vector<bool> first_{};
    bool after_key_ = false;
    int indent_;
};

}  // namespace longhold
