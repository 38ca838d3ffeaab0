// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/config/connection_spec.h>
#include <longhold/config/names.h>

#include <algorithm>
#include <array>

#include "profile_keys.h"
#include "spec_document.h"

namespace longhold::config {
namespace {

const std::array<std::string, 3> own_keys{"url", "profile", "variables"};

bool is_variable_name(std::string_view name) {
    const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && std::ranges::all_of(name, inner);
}

// Takes apart the keys that only a spec has.
struct SpecReader {
    const std::string& source;
    Problems& problems;

    void report(std::string what, std::string remedy) const {
        problems.push_back({.what = std::move(what), .where = source, .remedy = std::move(remedy)});
    }

    void read_text(const NodeTable& table, const std::string& key, std::string& out) const {
        const auto found = table.find(key);
        if (found == table.end()) {
            return;
        }
        if (const auto* text = found->second.text()) {
            out = *text;
        } else {
            report(key + " must be a string, not " + type_name(found->second), "put it in quotes");
        }
    }

    void read_variables(const NodeTable& table, std::map<std::string, std::string>& out) const {
        const auto found = table.find("variables");
        if (found == table.end()) {
            return;
        }
        const auto* variables = found->second.table();
        if (variables == nullptr) {
            report("variables must be a table of strings, not " + type_name(found->second),
                   R"(write it like {"token": "${env:TOKEN}"})");
            return;
        }
        for (const auto& [name, value] : *variables) {
            if (!is_variable_name(name)) {
                report("variables has the name \"" + name + "\"", "use a-z, 0-9 and _, beginning with a letter");
            } else if (name == "cursor" || name == "connection_id") {
                report("variables." + name + " would hide what {" + name + "} means already", "give it another name");
            } else if (const auto* text = value.text(); text == nullptr) {
                report("variables." + name + " must be a string, not " + type_name(value), "put it in quotes");
            } else if (const auto checked = check_references(*text); !checked) {
                const auto complaint = complaint_from(checked.error());
                report("variables." + name + ": " + complaint.what, complaint.remedy);
            } else {
                out[name] = *text;
            }
        }
    }
};

std::string overrides_text(const NodeTable& table) {
    Node overrides;
    NodeTable rest = table;
    for (const auto& key : own_keys) {
        rest.erase(key);
    }
    overrides.value = std::move(rest);
    JsonWriter writer;
    write_json(writer, overrides);
    return writer.take();
}

// The node that `path` of a spec takes from text, or what is wrong with the path.
std::expected<Node, Problem> spec_node(std::string_view path, std::string_view value) {
    Node text;
    text.value = std::string{value};
    if (path == "url" || path == "profile" || path.starts_with("variables.") || path.starts_with("headers.")) {
        return text;
    }
    const auto* key = find_key(profile_table(), path);
    if (key == nullptr || path == "headers") {
        auto paths = paths_of(profile_table());
        paths.insert(paths.end(), own_keys.begin(), own_keys.end());
        auto problem = unknown_key(path, paths, "--set");
        if (path == "headers" || path == "variables") {
            problem.what = std::string{path} + " is a table";
            problem.remedy = "name one of its keys, like --set " + std::string{path} + ".name=value";
        }
        return std::unexpected(std::move(problem));
    }
    Profile scratch;
    const Field field = key->field(scratch);
    if (!std::holds_alternative<std::vector<std::string>*>(field)) {
        return node_from_text(field, value);
    }
    if (auto list = parse_json(value, "--set"); list && !assign(field, key->rules, *list)) {
        return *list;
    }
    Node list;
    list.value = std::vector<Node>{text};
    return list;
}

}  // namespace

std::expected<ConnectionSpec, Problems> spec_from_node(const Node& root, const std::string& source) {
    const auto* table = root.table();
    Problems problems;
    ConnectionSpec spec;
    const SpecReader reader{source, problems};
    if (table == nullptr) {
        reader.report("a spec must be an object, not " + type_name(root),
                      R"(write it like {"url":"wss://feed.example/ws"})");
        return std::unexpected(std::move(problems));
    }
    reader.read_text(*table, "url", spec.url);
    reader.read_text(*table, "profile", spec.profile);
    reader.read_variables(*table, spec.variables);
    if (!table->contains("url")) {
        reader.report("the spec has no url", R"(add "url":"wss://…")");
    }
    Profile scratch;
    apply_profile_keys(scratch, root, source, problems, own_keys);
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    spec.overrides = overrides_text(*table);
    return spec;
}

std::expected<ConnectionSpec, Problems> parse_spec(std::string_view json, std::string_view source) {
    const std::string where{source};
    if (json.size() > spec_bytes_max) {
        return std::unexpected(Problems{{.what = "the spec has " + std::to_string(json.size()) + " bytes",
                                         .where = where,
                                         .remedy = "a row is read with many others, so keep it below 64 KiB"}});
    }
    const auto root = parse_json(json, where);
    if (!root) {
        return std::unexpected(Problems{root.error()});
    }
    return spec_from_node(*root, where);
}

std::string spec_text(const ConnectionSpec& spec) {
    Node root = parse_json(spec.overrides, "overrides").value_or(Node{.value = NodeTable{}});
    if (root.table() == nullptr) {
        root.value = NodeTable{};
    }
    auto& table = std::get<NodeTable>(root.value);
    table["url"].value = spec.url;
    table["profile"].value = spec.profile;
    if (!spec.variables.empty()) {
        NodeTable variables;
        for (const auto& [name, value] : spec.variables) {
            variables[name].value = value;
        }
        table["variables"].value = std::move(variables);
    }
    JsonWriter writer;
    write_json(writer, root);
    return writer.take();
}

std::expected<std::string, Problem> spec_with(std::string_view json, std::string_view path, std::string_view value) {
    auto root = parse_json(json.empty() ? "{}" : json, "spec");
    if (!root) {
        return std::unexpected(root.error());
    }
    if (root->table() == nullptr) {
        return std::unexpected(Problem{.what = "a spec must be an object, not " + type_name(*root),
                                       .where = "spec",
                                       .remedy = R"(write it like {"url":"wss://feed.example/ws"})"});
    }
    auto node = spec_node(path, value);
    if (!node) {
        return std::unexpected(node.error());
    }
    auto& table = std::get<NodeTable>(root->value);
    const auto dot = path.find('.');
    if (dot == std::string_view::npos) {
        table[std::string{path}] = std::move(*node);
    } else {
        Node& section = table[std::string{path.substr(0, dot)}];
        if (section.table() == nullptr) {
            section.value = NodeTable{};
        }
        std::get<NodeTable>(section.value)[std::string{path.substr(dot + 1)}] = std::move(*node);
    }
    JsonWriter writer;
    write_json(writer, *root);
    return writer.take();
}

}  // namespace longhold::config
