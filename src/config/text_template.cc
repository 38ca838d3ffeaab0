// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/config/text_template.h>

#include <algorithm>

namespace longhold::config {
namespace {

bool begins_name(char c) {
    return c >= 'a' && c <= 'z';
}

bool continues_name(char c) {
    return begins_name(c) || (c >= '0' && c <= '9') || c == '_';
}

// The length of the placeholder at the beginning of `text`, with its braces; 0 when there is none.
std::size_t placeholder_length(std::string_view text) {
    if (text.size() < 3 || text[0] != '{' || !begins_name(text[1])) {
        return 0;
    }
    std::size_t at = 2;
    while (at < text.size() && continues_name(text[at])) {
        ++at;
    }
    return at < text.size() && text[at] == '}' ? at + 1 : 0;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Skips digits; whether there was one.
bool skip_digits(std::string_view& text) {
    const std::size_t before = text.size();
    while (!text.empty() && is_digit(text.front())) {
        text.remove_prefix(1);
    }
    return text.size() < before;
}

// RFC 8259, section 6.
bool is_json_number(std::string_view text) {
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const bool leading_zero = text.size() > 1 && text[0] == '0' && is_digit(text[1]);
    if (leading_zero || !skip_digits(text)) {
        return false;
    }
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (!skip_digits(text)) {
            return false;
        }
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('+') || text.starts_with('-')) {
            text.remove_prefix(1);
        }
        if (!skip_digits(text)) {
            return false;
        }
    }
    return text.empty();
}

// Follows whether the end of `text` lies inside a JSON string.
bool inside_string_after(std::string_view text, bool inside) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            inside = !inside;
        }
    }
    return inside;
}

std::string json_value(std::string_view value, bool inside_string) {
    if (!inside_string && is_json_number(value)) {
        return std::string{value};
    }
    std::string quoted;
    append_json_string(quoted, value);
    return inside_string ? quoted.substr(1, quoted.size() - 2) : quoted;
}

}  // namespace

TextTemplate::TextTemplate(std::string_view text) {
    std::size_t literal_from = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = placeholder_length(text.substr(at));
        if (length == 0) {
            ++at;
            continue;
        }
        if (at > literal_from) {
            pieces_.push_back({std::string{text.substr(literal_from, at - literal_from)}, false});
        }
        pieces_.push_back({std::string{text.substr(at + 1, length - 2)}, true});
        at += length;
        literal_from = at;
    }
    if (literal_from < text.size()) {
        pieces_.push_back({std::string{text.substr(literal_from)}, false});
    }
}

std::vector<std::string> TextTemplate::names() const {
    std::vector<std::string> names;
    for (const Piece& piece : pieces_) {
        if (piece.placeholder && std::ranges::find(names, piece.text) == names.end()) {
            names.push_back(piece.text);
        }
    }
    return names;
}

bool TextTemplate::uses(std::string_view name) const {
    return std::ranges::any_of(pieces_, [name](const Piece& piece) { return piece.placeholder && piece.text == name; });
}

std::optional<std::string> TextTemplate::render(const Lookup& lookup, Escaping escaping) const {
    std::string out;
    bool inside_string = false;
    for (const Piece& piece : pieces_) {
        if (!piece.placeholder) {
            out += piece.text;
            inside_string = inside_string_after(piece.text, inside_string);
            continue;
        }
        const auto value = lookup(piece.text);
        if (!value) {
            return std::nullopt;
        }
        switch (escaping) {
            case Escaping::none:
                out += *value;
                break;
            case Escaping::json:
                out += json_value(*value, inside_string);
                break;
            case Escaping::query:
                out += percent_encoded(*value);
                break;
        }
    }
    return out;
}

Escaping escaping_of_message(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || placeholder_length(text.substr(first)) > 0) {
        return Escaping::none;
    }
    return text[first] == '{' || text[first] == '[' ? Escaping::json : Escaping::none;
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
            out += c;
        } else {
            out += '%';
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        }
    }
    return out;
}

}  // namespace longhold::config
