// SPDX-License-Identifier: Apache-2.0
// The table of keys: one row per key drives reading, defaults, messages, suggestions, `explain` and docs.
#pragma once

#include <longhold/base/time.h>
#include <longhold/config/byte_size.h>
#include <longhold/config/problem.h>
#include <longhold/config/settings.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "node.h"

namespace longhold::config {

// A place in a struct that a key sets; its type is the key's type.
using Field = std::variant<std::string*, std::vector<std::string>*, std::map<std::string, std::string>*, Duration*,
                           std::optional<Duration>*, ByteSize*, std::uint32_t*, std::uint64_t*,
                           std::optional<std::uint64_t>*, double*, bool*>;

// What is wrong with a value, and what to do about it.
struct Complaint {
    std::string what;
    std::string remedy;
};

// "a; b" as Complaint{a, b}; the form of errors of the readers of single values.
[[nodiscard]] Complaint complaint_from(const std::string& sentence);

struct KeyRules {
    std::string_view path{};
    std::string_view summary{};
    // Least and greatest value, as people write them in the key's own type; empty: no bound.
    std::string_view least{};
    std::string_view greatest{};
    std::vector<std::string_view> choices{};  // of a text; empty: any
    // Further check of each text. Errors: "what; what to do".
    std::expected<void, std::string> (*check)(std::string_view) = nullptr;
    std::string_view preset_word{};  // stands for the default in files and tables, such as "auto"
    bool references = false;
    bool secret = false;  // never shown; of a list, no element is
    bool restart = true;
};

template <class Target>
struct Key {
    KeyRules rules;
    Field (*field)(Target&);
};

// Puts `node` into `field`. Errors name the key; the field is then unchanged.
[[nodiscard]] std::optional<Complaint> assign(const Field& field, const KeyRules& rules, const Node& node);

// Text of a flag or the environment as the node that `field` takes; a list is split at commas.
[[nodiscard]] Node node_from_text(const Field& field, std::string_view text);

// The value as a person would write it, without quotes.
[[nodiscard]] std::string show(const Field& field, const KeyRules& rules);
// The value as TOML.
[[nodiscard]] std::string show_toml(const Field& field, const KeyRules& rules);
// "duration", "size", "text", "list of texts", …
[[nodiscard]] std::string type_of(const Field& field);

// Calls `visit` for each key of `root` that is among `paths`, and reports every other one, with the nearest known path.
void walk_keys(const Node& root, std::span<const std::string> paths, const std::string& source, Problems& problems,
               const std::function<void(const std::string& path, const Node& node)>& visit);

// "lease.duration, lease.heartbeat_every": the keys of a section; empty where there is no such section.
[[nodiscard]] std::string keys_of_section(std::string_view section, std::span<const std::string> paths);

// The message for an unknown key, or for a section in the place of one.
[[nodiscard]] Problem unknown_key(std::string_view path, std::span<const std::string> paths, std::string where);

template <class Target>
[[nodiscard]] std::vector<std::string> paths_of(const std::vector<Key<Target>>& keys) {
    std::vector<std::string> paths;
    paths.reserve(keys.size());
    for (const auto& key : keys) {
        paths.emplace_back(key.rules.path);
    }
    return paths;
}

template <class Target>
[[nodiscard]] const Key<Target>* find_key(const std::vector<Key<Target>>& keys, std::string_view path) {
    for (const auto& key : keys) {
        if (key.rules.path == path) {
            return &key;
        }
    }
    return nullptr;
}

template <class Target>
[[nodiscard]] std::vector<KeyDescription> describe(const std::vector<Key<Target>>& keys) {
    std::vector<KeyDescription> rows;
    Target preset;
    for (const auto& key : keys) {
        const Field field = key.field(preset);
        rows.push_back({.path = std::string{key.rules.path},
                        .type = type_of(field),
                        .preset = show_toml(field, key.rules),
                        .summary = std::string{key.rules.summary},
                        .restart = key.rules.restart,
                        .references = key.rules.references});
    }
    return rows;
}

}  // namespace longhold::config
