// SPDX-License-Identifier: Apache-2.0
#include "key_table.h"

#include <longhold/config/suggestion.h>

#include <algorithm>

namespace longhold::config {
namespace {

std::string join_paths(std::string_view prefix, std::string_view key) {
    return prefix.empty() ? std::string{key} : std::string{prefix} + "." + std::string{key};
}

// "sinks", "sinks.main" of "sinks.main.url", and so on.
std::vector<std::string> sections_of(std::span<const std::string> paths) {
    std::vector<std::string> sections;
    for (const std::string& path : paths) {
        for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
            auto section = path.substr(0, dot);
            if (std::ranges::find(sections, section) == sections.end()) {
                sections.push_back(std::move(section));
            }
        }
    }
    return sections;
}

struct Walker {
    std::span<const std::string> paths;
    const std::string& source;
    Problems& problems;
    const std::function<void(const std::string& path, const Node& node)>& visit;

    void walk(const NodeTable& table, std::string_view prefix) const {
        for (const auto& [key, node] : table) {
            const std::string path = join_paths(prefix, key);
            if (std::ranges::find(paths, path) != paths.end()) {
                visit(path, node);
            } else if (keys_of_section(path, paths).empty()) {
                problems.push_back(unknown_key(path, paths, place_text(source, node.key_place)));
            } else if (const auto* section = node.table()) {
                walk(*section, path);
            } else {
                problems.push_back({.what = path + " must be a table, not " + type_name(node),
                                    .where = place_text(source, node.place),
                                    .remedy = "write its keys under [" + path + "]"});
            }
        }
    }
};

}  // namespace

Complaint complaint_from(const std::string& sentence) {
    const auto split = sentence.rfind("; ");
    if (split == std::string::npos) {
        return {sentence, "correct it"};
    }
    return {sentence.substr(0, split), sentence.substr(split + 2)};
}

std::string keys_of_section(std::string_view section, std::span<const std::string> paths) {
    std::string keys;
    for (const std::string& path : paths) {
        if (path.starts_with(std::string{section} + ".")) {
            keys += (keys.empty() ? "" : ", ") + path;
        }
    }
    return keys;
}

Problem unknown_key(std::string_view path, std::span<const std::string> paths, std::string where) {
    if (const auto keys = keys_of_section(path, paths); !keys.empty()) {
        return {.what = std::string{path} + " is a section, not a key",
                .where = std::move(where),
                .remedy = "set one of its keys: " + keys};
    }
    auto meant = nearest(path, paths);
    if (!meant) {
        meant = nearest(path, sections_of(paths));
    }
    return {.what = "unknown key " + std::string{path},
            .where = std::move(where),
            .remedy = meant ? "did you mean " + *meant + "?"
                            : "remove it; docs/configuration.md and docs/profiles.md list all keys"};
}

void walk_keys(const Node& root, std::span<const std::string> paths, const std::string& source, Problems& problems,
               const std::function<void(const std::string& path, const Node& node)>& visit) {
    if (const auto* table = root.table()) {
        Walker{paths, source, problems, visit}.walk(*table, "");
        return;
    }
    problems.push_back({.what = "the document is " + type_name(root),
                        .where = place_text(source, root.place),
                        .remedy = "give a table (in JSON: an object)"});
}

}  // namespace longhold::config
