// SPDX-License-Identifier: Apache-2.0
// Node: a TOML or JSON document as values with places, so that one reader of keys serves both formats.
#pragma once

#include <longhold/base/json_text.h>
#include <longhold/config/problem.h>

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace longhold::config {

struct Node;
using NodeTable = std::map<std::string, Node, std::less<>>;

// What neither settings nor profiles take, such as a TOML date or a JSON null.
struct Foreign {
    std::string name;
};

// Line and column, from 1; 0 where the format has none.
struct Place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

struct Node {
    std::variant<Foreign, bool, std::int64_t, std::uint64_t, double, std::string, std::vector<Node>, NodeTable> value;
    Place place{};
    Place key_place{};  // of its key, where it is in a table

    [[nodiscard]] const NodeTable* table() const { return std::get_if<NodeTable>(&value); }

    [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
};

// "a string", "an integer", "a table", …
[[nodiscard]] std::string type_name(const Node& node);

// "source:line:column", or the source alone.
[[nodiscard]] std::string place_text(const std::string& source, Place place);

// The root is a table. Errors: where the syntax breaks, and how.
[[nodiscard]] std::expected<Node, Problem> parse_toml(std::string_view text, const std::string& source);
// Any root.
[[nodiscard]] std::expected<Node, Problem> parse_json(std::string_view text, const std::string& source);

// Tables with sorted keys. Requires a node without Foreign values other than null.
void write_json(JsonWriter& writer, const Node& node);

}  // namespace longhold::config
