// SPDX-License-Identifier: Apache-2.0
// Reading single values of the table of keys.
#include <longhold/base/duration_text.h>
#include <longhold/base/json_text.h>

#include <algorithm>
#include <charconv>
#include <limits>

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

Complaint wrong_type(const KeyRules& rules, std::string_view wanted, const Node& node, std::string_view example) {
    return {std::string{rules.path} + " must be " + std::string{wanted} + ", not " + type_name(node),
            "write it like " + std::string{example}};
}

Complaint named(const KeyRules& rules, const std::string& sentence) {
    auto complaint = complaint_from(sentence);
    complaint.what = std::string{rules.path} + ": " + complaint.what;
    return complaint;
}

// Whether `value` lies between the bounds of the rules, which `read` understands.
template <class T, class Read, class Show>
std::optional<Complaint> out_of_range(const KeyRules& rules, const T& value, Read read, Show shown) {
    const bool low = !rules.least.empty() && value < read(rules.least);
    const bool high = !rules.greatest.empty() && value > read(rules.greatest);
    if (!low && !high) {
        return std::nullopt;
    }
    std::string range = rules.greatest.empty() ? "use at least " + std::string{rules.least}
                        : rules.least.empty()
                            ? "use at most " + std::string{rules.greatest}
                            : "use " + std::string{rules.least} + " to " + std::string{rules.greatest};
    return Complaint{std::string{rules.path} + " is " + shown(value) + ", which is too " + (low ? "small" : "large"),
                     std::move(range)};
}

std::optional<Complaint> check_text(const KeyRules& rules, const std::string& text) {
    if (!rules.references && (text.find("${env:") != std::string::npos || text.find("${file:") != std::string::npos)) {
        return Complaint{std::string{rules.path} + " takes no references", "write the value itself"};
    }
    if (!rules.choices.empty() && std::ranges::find(rules.choices, text) == rules.choices.end()) {
        std::string choices;
        for (const auto choice : rules.choices) {
            choices += (choices.empty() ? "" : ", ") + std::string{choice};
        }
        return Complaint{std::string{rules.path} + " is " + quoted(text), "use one of " + choices};
    }
    if (rules.check != nullptr) {
        if (const auto checked = rules.check(text); !checked) {
            return named(rules, checked.error());
        }
    }
    return std::nullopt;
}

double read_number(std::string_view text) {
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

Duration read_duration(std::string_view text) {
    return parse_duration(text).value_or(Duration{});
}

std::string show_number(double number) {
    JsonWriter writer;
    writer.value(number);
    return writer.take();
}

// Reads an unsigned integer of at most `max`.
std::expected<std::uint64_t, Complaint> integer(const KeyRules& rules, const Node& node, std::uint64_t max) {
    const auto* small = std::get_if<std::int64_t>(&node.value);
    const auto* large = std::get_if<std::uint64_t>(&node.value);
    if (small == nullptr && large == nullptr) {
        return std::unexpected(wrong_type(rules, "an integer", node, "100, without quotes"));
    }
    if (small != nullptr && *small < 0) {
        return std::unexpected(
            Complaint{std::string{rules.path} + " is " + std::to_string(*small), "use an integer of 0 or more"});
    }
    const std::uint64_t value = small != nullptr ? static_cast<std::uint64_t>(*small) : *large;
    if (value > max) {
        return std::unexpected(
            Complaint{std::string{rules.path} + " is " + std::to_string(value) + ", which is too large",
                      "use at most " + std::to_string(max)});
    }
    const auto read = [](std::string_view text) { return static_cast<std::uint64_t>(read_number(text)); };
    if (auto complaint = out_of_range(rules, value, read, [](std::uint64_t v) { return std::to_string(v); })) {
        return std::unexpected(std::move(*complaint));
    }
    return value;
}

std::expected<Duration, Complaint> duration(const KeyRules& rules, const Node& node) {
    const auto* text = node.text();
    if (text == nullptr) {
        return std::unexpected(wrong_type(rules, "a duration", node, R"("200ms", "6s" or "1m30s")"));
    }
    const auto parsed = parse_duration(*text);
    if (!parsed) {
        return std::unexpected(named(rules, parsed.error()));
    }
    if (auto complaint = out_of_range(rules, *parsed, read_duration, format_duration)) {
        return std::unexpected(std::move(*complaint));
    }
    return *parsed;
}

// Sets the field of each type from a node.
struct Assign {
    const KeyRules& rules;
    const Node& node;
    using Answer = std::optional<Complaint>;

    [[nodiscard]] bool is_preset_word() const {
        return node.text() != nullptr && !rules.preset_word.empty() && *node.text() == rules.preset_word;
    }

    Answer operator()(std::string* field) const {
        const auto* text = node.text();
        if (text == nullptr) {
            return wrong_type(rules, "a string", node, "\"text\", in quotes");
        }
        if (auto complaint = check_text(rules, *text)) {
            return complaint;
        }
        *field = *text;
        return std::nullopt;
    }

    Answer operator()(Strings* field) const {
        const auto* items = std::get_if<std::vector<Node>>(&node.value);
        if (items == nullptr) {
            return wrong_type(rules, "a list of strings", node, R"(["first", "second"])");
        }
        Strings texts;
        for (const Node& item : *items) {
            if (item.text() == nullptr) {
                return wrong_type(rules, "a list of strings", item, R"(["first", "second"])");
            }
            if (auto complaint = check_text(rules, *item.text())) {
                return complaint;
            }
            texts.push_back(*item.text());
        }
        *field = std::move(texts);
        return std::nullopt;
    }

    Answer operator()(StringMap* field) const {
        const auto* table = node.table();
        if (table == nullptr) {
            return wrong_type(rules, "a table of strings", node, "{ Name = \"value\" }");
        }
        StringMap texts;
        for (const auto& [key, item] : *table) {
            if (item.text() == nullptr) {
                return Complaint{std::string{rules.path} + "." + key + " must be a string, not " + type_name(item),
                                 "put its value in quotes"};
            }
            if (auto complaint = check_text(rules, *item.text())) {
                return complaint;
            }
            texts[key] = *item.text();
        }
        *field = std::move(texts);
        return std::nullopt;
    }

    Answer operator()(Duration* field) const {
        if (is_preset_word()) {
            *field = Duration{};
            return std::nullopt;
        }
        auto value = duration(rules, node);
        if (!value) {
            return std::move(value.error());
        }
        *field = *value;
        return std::nullopt;
    }

    Answer operator()(std::optional<Duration>* field) const {
        if (node.text() != nullptr && node.text()->empty()) {
            field->reset();
            return std::nullopt;
        }
        auto value = duration(rules, node);
        if (!value) {
            return std::move(value.error());
        }
        *field = *value;
        return std::nullopt;
    }

    Answer operator()(ByteSize* field) const {
        std::expected<ByteSize, std::string> size;
        if (const auto* text = node.text()) {
            size = parse_byte_size(*text);
        } else if (const auto* number = std::get_if<std::int64_t>(&node.value); number != nullptr && *number >= 0) {
            size = ByteSize{static_cast<std::uint64_t>(*number)};
        } else {
            return wrong_type(rules, "a size", node, R"("64MiB")");
        }
        if (!size) {
            return named(rules, size.error());
        }
        const auto read = [](std::string_view text) { return parse_byte_size(text).value_or(ByteSize{}); };
        if (auto complaint = out_of_range(rules, *size, read, format_byte_size)) {
            return complaint;
        }
        *field = *size;
        return std::nullopt;
    }

    Answer operator()(std::uint32_t* field) const {
        auto value = integer(rules, node, std::numeric_limits<std::uint32_t>::max());
        if (!value) {
            return std::move(value.error());
        }
        *field = static_cast<std::uint32_t>(*value);
        return std::nullopt;
    }

    Answer operator()(std::uint64_t* field) const {
        auto value = integer(rules, node, std::numeric_limits<std::uint64_t>::max());
        if (!value) {
            return std::move(value.error());
        }
        *field = *value;
        return std::nullopt;
    }

    Answer operator()(std::optional<std::uint64_t>* field) const {
        auto value = integer(rules, node, std::numeric_limits<std::uint64_t>::max());
        if (!value) {
            return std::move(value.error());
        }
        *field = *value;
        return std::nullopt;
    }

    Answer operator()(double* field) const {
        double value = 0;
        if (const auto* fraction = std::get_if<double>(&node.value)) {
            value = *fraction;
        } else if (const auto* whole = std::get_if<std::int64_t>(&node.value)) {
            value = static_cast<double>(*whole);
        } else {
            return wrong_type(rules, "a number", node, "0.2, without quotes");
        }
        if (!(value == value)) {
            return Complaint{std::string{rules.path} + " is not a number", "write a number like 0.2"};
        }
        if (auto complaint = out_of_range(rules, value, read_number, show_number)) {
            return complaint;
        }
        *field = value;
        return std::nullopt;
    }

    Answer operator()(bool* field) const {
        const auto* flag = std::get_if<bool>(&node.value);
        if (flag == nullptr) {
            return wrong_type(rules, "true or false", node, "true, without quotes");
        }
        *field = *flag;
        return std::nullopt;
    }
};

}  // namespace

std::optional<Complaint> assign(const Field& field, const KeyRules& rules, const Node& node) {
    return std::visit(Assign{rules, node}, field);
}

}  // namespace longhold::config
