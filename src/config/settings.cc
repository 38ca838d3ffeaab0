// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/settings.h>

#include <algorithm>
#include <set>

#include "key_table.h"
#include "settings_keys.h"

namespace longhold::config {
namespace {

constexpr std::string_view environment_prefix = "LONGHOLD_";

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

// "lease.duration" -> "LONGHOLD_LEASE_DURATION"
std::string undivided_name(std::string_view path) {
    std::string name = environment_name(path);
    for (auto at = name.find("__"); at != std::string::npos; at = name.find("__")) {
        name.erase(at, 1);
    }
    return name;
}

// What refers to something, as people wrote it: a text, or a list of texts. Nothing when nothing does.
std::optional<std::string> written_references(const Node& node) {
    if (const auto* text = node.text()) {
        return has_reference(*text) ? std::optional{*text} : std::nullopt;
    }
    const auto* list = std::get_if<std::vector<Node>>(&node.value);
    std::string written;
    bool referring = false;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const auto* text = (*list)[i].text();
        const bool refers = text != nullptr && has_reference(*text);
        referring = referring || refers;
        written += (i == 0 ? "" : ", ") + (refers ? *text : std::string{"(hidden)"});
    }
    return referring ? std::optional{std::move(written)} : std::nullopt;
}

std::expected<void, std::string> fill_references(Node& node, const ReferenceSources& sources) {
    if (const auto* text = node.text()) {
        auto value = resolve_references(*text, sources);
        if (!value) {
            return std::unexpected(std::move(value.error()));
        }
        node.value = std::move(*value);
    } else if (auto* list = std::get_if<std::vector<Node>>(&node.value)) {
        for (auto& element : *list) {
            if (auto filled = fill_references(element, sources); !filled) {
                return filled;
            }
        }
    }
    return {};
}

// A secret that somebody wrote out.
std::string hidden(const Node& node) {
    const auto* list = std::get_if<std::vector<Node>>(&node.value);
    return list != nullptr && list->empty() ? "" : "(hidden)";
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
    // A variable without "__" is a person's own, whatever it is called, but for the one mistake that is told: a key
    // that is written with one underscore, and that no reference asks for by that name.
    void undivided(const std::string& name, const std::string& where);
    [[nodiscard]] bool is_referred_to(const std::string& name) const;
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
            undivided(name, where);
        } else {
            auto problem = unknown_key(path, paths_, where);
            problem.what = "the variable " + name + " names the unknown key " + path;
            problems_.push_back(std::move(problem));
        }
    }
}

void Loader::undivided(const std::string& name, const std::string& where) {
    const auto meant = std::ranges::find(paths_, name, undivided_name);
    if (meant == paths_.end() || is_referred_to(name)) {
        return;
    }
    problems_.push_back({.what = "the variable " + name + " names no key",
                         .where = where,
                         .remedy = "did you mean " + environment_name(*meant) + "?"});
}

bool Loader::is_referred_to(const std::string& name) const {
    const std::string reference = "${env:" + name + "}";
    const auto refers = [&reference](const std::string& text) { return text.find(reference) != std::string::npos; };
    return (input_.file_text && refers(*input_.file_text)) || std::ranges::any_of(input_.flags, refers) ||
           std::ranges::any_of(input_.sources.environment, refers, [](const auto& entry) { return entry.second; });
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
    const auto written = key->rules.references ? written_references(node) : std::nullopt;
    const bool referring = written.has_value();
    std::optional<Complaint> complaint;
    if (referring) {
        if (const auto filled = fill_references(resolved, input_.sources); !filled) {
            complaint = complaint_from(filled.error());
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
    auto shown = referring ? *written : key->rules.secret ? hidden(node) : show(field, key->rules);
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
