// SPDX-License-Identifier: Apache-2.0
// TextTemplate: text with placeholders such as {cursor}.
//
// A placeholder is `{name}` with name of a-z, 0-9 and _, beginning with a letter; every other brace is itself, so that
// JSON needs no escaping. Text that must hold `{word}` literally takes it from a variable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::config {

// How values go into the text.
enum class Escaping : std::uint8_t {
    none,   // as they are
    json,   // inside a JSON string: escaped; outside: a JSON number as it is, anything else as a JSON string
    query,  // percent-encoded, all but unreserved characters
};

// The value of a placeholder; nothing when there is none.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

class TextTemplate {
public:
    explicit TextTemplate(std::string_view text);

    // Names in order of appearance, each once.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] bool uses(std::string_view name) const;

    // Nothing when `lookup` has no value for a placeholder.
    [[nodiscard]] std::optional<std::string> render(const Lookup& lookup, Escaping escaping) const;

private:
    struct Piece {
        std::string text;  // literal, or the placeholder's name
        bool placeholder = false;
    };

    std::vector<Piece> pieces_;
};

// Escaping::json where `text` begins like a JSON object or array, else Escaping::none.
[[nodiscard]] Escaping escaping_of_message(std::string_view text);

// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace longhold::config
