// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/config/explain.h>

#include <algorithm>

namespace longhold::config {
namespace {

// An empty value would look like a missing column.
std::string visible(const std::string& value) {
    return value.empty() ? "\"\"" : value;
}

const Origin& origin_of(const Settings& settings, const std::string& path) {
    static const Origin none;
    const auto found = settings.origins.find(path);
    return found == settings.origins.end() ? none : found->second;
}

}  // namespace

std::string explain_table(const Settings& settings) {
    const auto keys = setting_keys();
    std::size_t key_width = 0;
    std::size_t value_width = 0;
    for (const auto& key : keys) {
        key_width = std::max(key_width, key.path.size());
        value_width = std::max(value_width, visible(origin_of(settings, key.path).shown).size());
    }
    std::string out;
    for (const auto& key : keys) {
        const Origin& origin = origin_of(settings, key.path);
        const std::string value = visible(origin.shown);
        out += key.path + std::string(key_width - key.path.size() + 2, ' ');
        out += value + std::string(value_width - value.size() + 2, ' ');
        out += origin.place + "\n";
    }
    return out;
}

std::string explain_json(const Settings& settings) {
    JsonWriter writer{2};
    writer.begin_object().key("keys").begin_array();
    for (const auto& key : setting_keys()) {
        const Origin& origin = origin_of(settings, key.path);
        writer.begin_object();
        writer.key("key").value(key.path);
        writer.key("value").value(origin.shown);
        writer.key("origin").value(origin.place);
        writer.key("default").value(key.preset);
        writer.key("type").value(key.type);
        writer.key("restart").value(key.restart);
        writer.key("summary").value(key.summary);
        writer.end_object();
    }
    writer.end_array().end_object();
    return writer.take() + "\n";
}

}  // namespace longhold::config
