// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/settings.h>
#include <longhold/config/suggestion.h>

#include <algorithm>
#include <array>
#include <set>

#include "key_table.h"
#include "settings_keys.h"

namespace longhold::config {
namespace {

constexpr std::string_view environment_prefix = "LONGHOLD_";

// Variables that are read elsewhere, by name; and those that Kubernetes sets for each service, such as
// LONGHOLD_STORE_SERVICE_HOST and LONGHOLD_STORE_PORT_80_TCP.
bool is_for_others(std::string_view name) {
    static constexpr std::array<std::string_view, 12> names{
        "LONGHOLD_CONFIG",     "LONGHOLD_API",     "LONGHOLD_BIN",          "LONGHOLD_BINARY_DIR",
        "LONGHOLD_E2E_SHORT",  "LONGHOLD_SOAK",    "LONGHOLD_JOBS",         "LONGHOLD_FUZZ_SECONDS",
        "LONGHOLD_NO_INSTALL", "LONGHOLD_DEV_RUN", "LONGHOLD_REWRITE_DOCS", "LONGHOLD_PEER_KEY"};
    return std::ranges::find(names, name) != names.end() || name.ends_with("_SERVICE_HOST") ||
           name.ends_with("_PORT") || name.find("_PORT_") != std::string_view::npos;
}

// "LONGHOLD_SINKS__MAIN__URL" -> "sinks.main.url"
std::string path_of_environment(std::string_view name) {
    std::string path;
    name.remove_prefix(environment_prefix.size());
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '_' && i + 1 < name.size() && name[i + 1] == '_') {
            path += '.';
            ++i;
        } else {
            path += name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
        }
    }
    return path;
}

// Builds Settings from one source after the other, each above those before it.
class Loader {
public:
    explicit Loader(const SettingsInput& input) : input_(input), paths_(paths_of(settings_table())) {
        for (const auto& key : settings_table()) {
            settings_.origins[std::string{key.rules.path}].shown = show(key.field(settings_), key.rules);
        }
    }

    void file();
    void environment();
    // Reports a variable without "__" that looks like a setting.
    void undivided(const std::string& name, const std::string& path, const std::string& where);
    void flags();
    [[nodiscard]] std::expected<Settings, Problems> finish();

private:
    void take(const std::string& path, const Node& node, OriginKind kind, const std::string& where);
    void take_text(const std::string& path, std::string_view text, OriginKind kind, const std::string& where);

    const SettingsInput& input_;
    std::vector<std::string> paths_;
    Settings settings_;
    Problems problems_;
    std::set<std::string, std::less<>> failed_;
};

void Loader::file() {
    if (!input_.file_text) {
        return;
    }
    const auto root = parse_toml(*input_.file_text, input_.file_name);
    if (!root) {
        problems_.push_back(root.error());
        return;
    }
    walk_keys(*root, paths_, input_.file_name, problems_, [this](const std::string& path, const Node& node) {
        take(path, node, OriginKind::file, place_text(input_.file_name, node.place));
    });
}

void Loader::environment() {
    for (const auto& [name, text] : input_.sources.environment) {
        if (!name.starts_with(environment_prefix)) {
            continue;
        }
        const std::string path = path_of_environment(name);
        const std::string where = "environment " + name;
        if (std::ranges::find(paths_, path) != paths_.end()) {
            take_text(path, text, OriginKind::environment, where);
        } else if (path.find('.') == std::string::npos) {
            undivided(name, path, where);
        } else {
            auto problem = unknown_key(path, paths_, where);
            problem.what = "the variable " + name + " names the unknown key " + path;
            problems_.push_back(std::move(problem));
        }
    }
}

void Loader::undivided(const std::string& name, const std::string& path, const std::string& where) {
    if (is_for_others(name)) {
        return;
    }
    if (!keys_of_section(path, paths_).empty()) {
        problems_.push_back(unknown_key(path, paths_, where));
        return;
    }
    const std::string section = path.substr(0, path.find('_'));
    const auto meant = nearest(path, paths_);
    if (!meant && keys_of_section(section, paths_).empty()) {
        return;
    }
    problems_.push_back(
        {.what = "the variable " + name + " names no key",
         .where = where,
         .remedy = meant ? "did you mean " + environment_name(*meant) + "?"
                         : "write two underscores between section and key; keys: " + keys_of_section(section, paths_)});
}

void Loader::flags() {
    for (const std::string& flag : input_.flags) {
        const auto equals = flag.find('=');
        if (equals == std::string::npos) {
            problems_.push_back({.what = "\"" + flag + "\" sets nothing: it has no \"=\"",
                                 .where = "--set",
                                 .remedy = "write it like --set lease.duration=6s"});
            continue;
        }
        const std::string path = flag.substr(0, equals);
        const std::string where = "--set " + path;
        if (std::ranges::find(paths_, path) == paths_.end()) {
            problems_.push_back(unknown_key(path, paths_, where));
        } else {
            take_text(path, std::string_view{flag}.substr(equals + 1), OriginKind::flag, where);
        }
    }
}

void Loader::take_text(const std::string& path, std::string_view text, OriginKind kind, const std::string& where) {
    const auto* key = find_key(settings_table(), path);
    take(path, node_from_text(key->field(settings_), text), kind, where);
}

void Loader::take(const std::string& path, const Node& node, OriginKind kind, const std::string& where) {
    const auto* key = find_key(settings_table(), path);
    const Field field = key->field(settings_);
    Node resolved = node;
    const std::string* written = node.text();
    const bool referring = key->rules.references && written != nullptr && has_reference(*written);
    std::optional<Complaint> complaint;
    if (referring) {
        auto value = resolve_references(*written, input_.sources);
        if (value) {
            resolved.value = std::move(*value);
        } else {
            complaint = complaint_from(value.error());
            complaint->what = path + ": " + complaint->what;
        }
    }
    if (!complaint) {
        complaint = assign(field, key->rules, resolved);
        if (complaint && referring) {  // its words could hold the secret
            complaint = Complaint{path + " is not usable once its references are filled in",
                                  "look at what " + *written + " gives"};
        }
    }
    if (complaint) {
        failed_.insert(path);
        problems_.push_back({.what = complaint->what, .where = where, .remedy = complaint->remedy});
        return;
    }
    failed_.erase(path);
    auto shown = referring ? *written : show(field, key->rules);
    settings_.origins[path] = {kind, where, key->rules.references ? without_password(shown) : shown};
}

std::expected<Settings, Problems> Loader::finish() {
    check_settings(settings_, [this](std::string_view path) { return failed_.contains(path); }, problems_);
    if (!problems_.empty()) {
        return std::unexpected(std::move(problems_));
    }
    return std::move(settings_);
}

}  // namespace

std::expected<Settings, Problems> load_settings(const SettingsInput& input) {
    Loader loader{input};
    loader.file();
    loader.environment();
    loader.flags();
    return loader.finish();
}

std::vector<std::string> keys_needing_restart(const Settings& before, const Settings& after) {
    Settings old_values = before;
    Settings new_values = after;
    std::vector<std::string> paths;
    for (const auto& key : settings_table()) {
        const auto old_text = show_toml(key.field(old_values), key.rules);
        const auto new_text = show_toml(key.field(new_values), key.rules);
        if (key.rules.restart && old_text != new_text) {
            paths.emplace_back(key.rules.path);
        }
    }
    return paths;
}

std::string environment_name(std::string_view path) {
    std::string name{environment_prefix};
    for (const char c : path) {
        if (c == '.') {
            name += "__";
        } else {
            name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        }
    }
    return name;
}

}  // namespace longhold::config
