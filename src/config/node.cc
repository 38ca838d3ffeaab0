// SPDX-License-Identifier: Apache-2.0
#include "node.h"

namespace longhold::config {
namespace {

struct TypeName {
    std::string operator()(const Foreign& foreign) const { return foreign.name; }

    std::string operator()(bool) const { return "a boolean"; }

    std::string operator()(std::int64_t) const { return "an integer"; }

    std::string operator()(std::uint64_t) const { return "an integer"; }

    std::string operator()(double) const { return "a fraction"; }

    std::string operator()(const std::string&) const { return "a string"; }

    std::string operator()(const std::vector<Node>&) const { return "a list"; }

    std::string operator()(const NodeTable&) const { return "a table"; }
};

struct Write {
    JsonWriter& writer;

    void operator()(const Foreign&) const { writer.null(); }

    void operator()(const std::vector<Node>& items) const {
        writer.begin_array();
        for (const Node& item : items) {
            write_json(writer, item);
        }
        writer.end_array();
    }

    void operator()(const NodeTable& table) const {
        writer.begin_object();
        for (const auto& [key, item] : table) {
            writer.key(key);
            write_json(writer, item);
        }
        writer.end_object();
    }

    void operator()(const auto& scalar) const { writer.value(scalar); }
};

}  // namespace

std::string type_name(const Node& node) {
    return std::visit(TypeName{}, node.value);
}

std::string place_text(const std::string& source, Place place) {
    if (place.line == 0) {
        return source;
    }
    return source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

void write_json(JsonWriter& writer, const Node& node) {
    std::visit(Write{writer}, node.value);
}

}  // namespace longhold::config
