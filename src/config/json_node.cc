// SPDX-License-Identifier: Apache-2.0
// The only file of this layer that knows simdjson.
#include <simdjson.h>

#include "node.h"

namespace longhold::config {
namespace {

Node convert(simdjson::dom::element element);

NodeTable convert_object(simdjson::dom::object object) {
    NodeTable out;
    for (const auto& [key, value] : object) {
        out.insert_or_assign(std::string{key}, convert(value));
    }
    return out;
}

std::vector<Node> convert_array(simdjson::dom::array array) {
    std::vector<Node> out;
    for (const simdjson::dom::element item : array) {
        out.push_back(convert(item));
    }
    return out;
}

Node convert(simdjson::dom::element element) {
    using simdjson::dom::element_type;
    Node out;
    switch (element.type()) {
        case element_type::OBJECT:
            out.value = convert_object(element.get_object().value_unsafe());
            break;
        case element_type::ARRAY:
            out.value = convert_array(element.get_array().value_unsafe());
            break;
        case element_type::STRING:
            out.value = std::string{element.get_string().value_unsafe()};
            break;
        case element_type::INT64:
            out.value = element.get_int64().value_unsafe();
            break;
        case element_type::UINT64:
            out.value = element.get_uint64().value_unsafe();
            break;
        case element_type::DOUBLE:
            out.value = element.get_double().value_unsafe();
            break;
        case element_type::BOOL:
            out.value = element.get_bool().value_unsafe();
            break;
        case element_type::NULL_VALUE:
            out.value = Foreign{"null"};
            break;
    }
    return out;
}

}  // namespace

std::expected<Node, Problem> parse_json(std::string_view text, const std::string& source) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    const auto error = parser.parse(simdjson::padded_string{text}).get(root);
    if (error != simdjson::SUCCESS) {
        return std::unexpected(Problem{.what = "this is not JSON: " + std::string{simdjson::error_message(error)},
                                       .where = source,
                                       .remedy = "give one complete JSON document (RFC 8259)"});
    }
    return convert(root);
}

}  // namespace longhold::config
