// SPDX-License-Identifier: Apache-2.0
// Single values of the table of keys as text, and text as values.
#include <longhold/base/duration_text.h>
#include <longhold/base/json_text.h>

#include <charconv>

#include "key_table.h"

namespace longhold::config {
namespace {

using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;

std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string show_number(double number) {
    JsonWriter writer;
    writer.value(number);
    return writer.take();
}

// The value of each type as TOML; `bare` leaves the quotes of a single text away.
struct Show {
    bool bare;

    [[nodiscard]] std::string text(std::string_view value) const { return bare ? std::string{value} : quoted(value); }

    std::string operator()(const std::string* value) const { return text(*value); }

    std::string operator()(const Strings* value) const {
        std::string out = "[";
        for (const auto& item : *value) {
            out += (out.size() > 1 ? ", " : "") + quoted(item);
        }
        return out + "]";
    }

    std::string operator()(const StringMap* value) const {
        std::string out = "{";
        for (const auto& [key, item] : *value) {
            out += (out.size() > 1 ? ", " : " ") + quoted(key) + " = " + quoted(item);
        }
        return out + (value->empty() ? "}" : " }");
    }

    std::string operator()(const Duration* value) const { return text(format_duration(*value)); }

    std::string operator()(const std::optional<Duration>* value) const {
        return text(*value ? format_duration(**value) : "");
    }

    std::string operator()(const ByteSize* value) const { return text(format_byte_size(*value)); }

    std::string operator()(const std::optional<std::uint64_t>* value) const {
        return *value ? std::to_string(**value) : std::string{};
    }

    std::string operator()(const double* value) const { return show_number(*value); }

    std::string operator()(const bool* value) const { return *value ? "true" : "false"; }

    std::string operator()(const auto* number) const { return std::to_string(*number); }
};

// The name of each type.
struct TypeOf {
    std::string operator()(const std::string*) const { return "text"; }

    std::string operator()(const Strings*) const { return "list of texts"; }

    std::string operator()(const StringMap*) const { return "table of texts"; }

    std::string operator()(const Duration*) const { return "duration"; }

    std::string operator()(const std::optional<Duration>*) const { return "duration or \"\""; }

    std::string operator()(const ByteSize*) const { return "size"; }

    std::string operator()(const double*) const { return "number"; }

    std::string operator()(const bool*) const { return "true or false"; }

    std::string operator()(const auto*) const { return "integer"; }
};

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

// The node that a field of each type takes; a text that does not fit stays a string, for the message.
struct FromText {
    std::string_view text;

    [[nodiscard]] Node string() const { return Node{.value = std::string{text}}; }

    template <class T>
    [[nodiscard]] Node number_or_string(std::optional<T> number) const {
        return number ? Node{.value = *number} : string();
    }

    Node operator()(const Strings*) const {
        if (text.starts_with('[')) {
            if (auto list = parse_json(text, "")) {
                return std::move(*list);
            }
        }
        std::vector<Node> items;
        std::string_view rest = text;
        while (!rest.empty()) {
            const auto end = rest.find(',');
            items.push_back(FromText{rest.substr(0, end)}.string());
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        }
        return Node{.value = std::move(items)};
    }

    Node operator()(const double*) const { return number_or_string(whole_number<double>(text)); }

    Node operator()(const bool*) const {
        if (text != "true" && text != "false") {
            return string();
        }
        return Node{.value = text == "true"};
    }

    [[nodiscard]] Node integer() const {
        if (auto small = whole_number<std::int64_t>(text)) {
            return number_or_string(small);
        }
        return number_or_string(whole_number<std::uint64_t>(text));
    }

    Node operator()(const std::uint32_t*) const { return integer(); }

    Node operator()(const std::uint64_t*) const { return integer(); }

    Node operator()(const std::optional<std::uint64_t>*) const { return integer(); }

    Node operator()(const auto*) const { return string(); }
};

// A text that stands for the default is shown while the value is the default.
bool shows_preset_word(const Field& field, const KeyRules& rules) {
    const auto* const* duration_field = std::get_if<Duration*>(&field);
    return !rules.preset_word.empty() && duration_field != nullptr && **duration_field == Duration{};
}

}  // namespace

Node node_from_text(const Field& field, std::string_view text) {
    return std::visit(FromText{text}, field);
}

std::string show(const Field& field, const KeyRules& rules) {
    return shows_preset_word(field, rules) ? std::string{rules.preset_word} : std::visit(Show{true}, field);
}

std::string show_toml(const Field& field, const KeyRules& rules) {
    return shows_preset_word(field, rules) ? quoted(rules.preset_word) : std::visit(Show{false}, field);
}

std::string type_of(const Field& field) {
    return std::visit(TypeOf{}, field);
}

}  // namespace longhold::config
