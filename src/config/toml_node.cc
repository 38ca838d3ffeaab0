// SPDX-License-Identifier: Apache-2.0
// The only file that knows toml++.
#include "node.h"

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace longhold::config {
namespace {

Place place_of(const toml::source_region& region) {
    return {region.begin.line, region.begin.column};
}

Node convert(const toml::node& node);

NodeTable convert_table(const toml::table& table) {
    NodeTable out;
    for (const auto& [key, value] : table) {
        Node item = convert(value);
        item.key_place = place_of(key.source());
        out.emplace(std::string{key.str()}, std::move(item));
    }
    return out;
}

std::vector<Node> convert_array(const toml::array& array) {
    std::vector<Node> out;
    out.reserve(array.size());
    for (const toml::node& item : array) {
        out.push_back(convert(item));
    }
    return out;
}

Node convert(const toml::node& node) {
    Node out;
    out.place = place_of(node.source());
    if (const auto* table = node.as_table()) {
        out.value = convert_table(*table);
    } else if (const auto* array = node.as_array()) {
        out.value = convert_array(*array);
    } else if (const auto* text = node.as_string()) {
        out.value = text->get();
    } else if (const auto* integer = node.as_integer()) {
        out.value = std::int64_t{integer->get()};
    } else if (const auto* fraction = node.as_floating_point()) {
        out.value = fraction->get();
    } else if (const auto* flag = node.as_boolean()) {
        out.value = flag->get();
    } else {
        out.value = Foreign{"a date or time"};
    }
    return out;
}

}  // namespace

std::expected<Node, Problem> parse_toml(std::string_view text, const std::string& source) {
    try {
        const toml::table root = toml::parse(text, source);
        Node out;
        out.value = convert_table(root);
        return out;
    } catch (const toml::parse_error& error) {
        return std::unexpected(Problem{.what = "this is not TOML: " + std::string{error.description()},
                                       .where = place_text(source, place_of(error.source())),
                                       .remedy = "mend the syntax there (https://toml.io)"});
    }
}

}  // namespace longhold::config
