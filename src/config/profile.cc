// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/config/profile.h>
#include <longhold/config/text_template.h>
#include <longhold/config/upstream_url.h>

#include "profile_keys.h"

namespace longhold::config {
namespace {

// The values of {connection_id}, {cursor} and variables.
Lookup lookup_in(const ResolvedProfile& resolved, std::string_view connection_id,
                 const std::optional<std::string>& cursor) {
    return [&resolved, connection_id, &cursor](std::string_view name) -> std::optional<std::string> {
        if (name == "connection_id") {
            return std::string{connection_id};
        }
        if (name == "cursor") {
            return cursor;
        }
        const auto found = resolved.variables.find(std::string{name});
        if (found == resolved.variables.end()) {  // checked before: only text that came out of a reference
            return "{" + std::string{name} + "}";
        }
        return found->second;
    };
}

constexpr Duration ping_every_min = std::chrono::milliseconds{100};

void check_resume(const Profile& profile, const std::string& where, Problems& problems) {
    const auto& resume = profile.resume;
    if (!resume.query.empty() && !resume.message.empty()) {
        problems.push_back({.what = "resume.query and resume.message are both set",
                            .where = where,
                            .remedy = "keep the form in which the upstream takes a cursor"});
    }
    if (profile.can_resume() && !profile.has_sequence()) {
        problems.push_back({.what = std::string{resume.query.empty() ? "resume.message" : "resume.query"} +
                                    " is set, but sequence.field is not, so that there is no cursor to resume from",
                            .where = where,
                            .remedy = "set sequence.field to where a message has its sequence, like /seq"});
    }
    if (!resume.message.empty() && !TextTemplate{resume.message}.uses("cursor")) {
        problems.push_back({.what = "resume.message has no {cursor}",
                            .where = where,
                            .remedy = R"(write {cursor} where the upstream takes it, like {"resume_from":{cursor}})"});
    }
    if (resume.inclusive && !profile.can_resume()) {
        problems.push_back({.what = "resume.inclusive is set, but neither resume.query nor resume.message is",
                            .where = where,
                            .remedy = "set the form in which the upstream takes a cursor"});
    }
    if (profile.sequence.first && !profile.has_sequence()) {
        problems.push_back({.what = "sequence.first is set, but sequence.field is not",
                            .where = where,
                            .remedy = "set sequence.field to where a message has its sequence, like /seq"});
    }
}

void check_headers(const Profile& profile, const std::string& where, Problems& problems) {
    for (const auto& [name, value] : profile.headers) {
        if (TextTemplate{value}.uses("cursor")) {
            problems.push_back({.what = "headers." + name + " has {cursor}, which a header cannot have in this release",
                                .where = where,
                                .remedy = "resume by resume.query or resume.message"});
        }
    }
}

}  // namespace

Problems check_profile(const Profile& profile, const std::string& where) {
    Problems problems;
    check_resume(profile, where, problems);
    check_headers(profile, where, problems);
    if (profile.limits.frame_bytes > profile.limits.message_bytes) {
        problems.push_back({.what = "limits.frame_bytes (" + format_byte_size(profile.limits.frame_bytes) +
                                    ") is above limits.message_bytes (" +
                                    format_byte_size(profile.limits.message_bytes) + ")",
                            .where = where,
                            .remedy = "lower the one or raise the other"});
    }
    if (profile.liveness.ping_every > Duration::zero() && profile.liveness.ping_every < ping_every_min) {
        problems.push_back({.what = "liveness.ping_every is less than 100ms",
                            .where = where,
                            .remedy = "use 100ms or more, or 0 for no pings"});
    }
    for (const auto& text : profile.open.send) {
        if (TextTemplate{text}.uses("cursor") && !profile.has_sequence()) {
            problems.push_back({.what = "a text of open.send has {cursor}, but sequence.field is not set",
                                .where = where,
                                .remedy = "set sequence.field to where a message has its sequence, like /seq"});
        }
    }
    return problems;
}

std::expected<Profile, Problems> parse_profile(std::string_view name, std::string_view toml, std::string_view source) {
    const std::string where{source};
    const auto root = parse_toml(toml, where);
    if (!root) {
        return std::unexpected(Problems{root.error()});
    }
    Profile profile;
    profile.name = name;
    Problems problems;
    apply_profile_keys(profile, *root, where, problems);
    if (problems.empty()) {
        problems = check_profile(profile, where);
    }
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return profile;
}

std::string profile_toml(const Profile& profile) {
    Profile copy = profile;
    std::string top;
    std::string sections;
    std::string section;
    for (const auto& key : profile_table()) {
        const std::string value = show_toml(key.field(copy), key.rules);
        const auto dot = key.rules.path.find('.');
        if (dot == std::string_view::npos) {
            top += std::string{key.rules.path} + " = " + value + "\n";
            continue;
        }
        const auto name = key.rules.path.substr(0, dot);
        if (name != section) {
            section = name;
            sections += "\n[" + section + "]\n";
        }
        if (!value.empty()) {  // an optional number that is absent
            sections += std::string{key.rules.path.substr(dot + 1)} + " = " + value + "\n";
        }
    }
    return "# profile " + profile.name + "\n" + top + sections;
}

std::string profile_json(const Profile& profile) {
    Profile copy = profile;
    JsonWriter writer{2};
    writer.begin_object();
    writer.key("name").value(profile.name);
    for (const auto& key : profile_table()) {
        const Field field = key.field(copy);
        if (const auto* const* headers = std::get_if<std::map<std::string, std::string>*>(&field)) {
            writer.key(key.rules.path).begin_object();
            for (const auto& [name, value] : **headers) {
                writer.key(name).value(value);
            }
            writer.end_object();
        } else if (const std::string value = show_toml(field, key.rules); !value.empty()) {
            writer.key(key.rules.path).raw(value);  // every other value is the same in TOML and JSON
        }
    }
    writer.end_object();
    return writer.take() + "\n";
}

std::string dial_url(const ResolvedProfile& resolved, std::string_view connection_id,
                     const std::optional<std::string>& cursor) {
    const auto lookup = lookup_in(resolved, connection_id, cursor);
    const std::string url = TextTemplate{resolved.url}.render(lookup, Escaping::query).value_or(resolved.url);
    if (!cursor || resolved.profile.resume.query.empty()) {
        return url;
    }
    return with_query_parameter(url, resolved.profile.resume.query, *cursor);
}

std::map<std::string, std::string> dial_headers(const ResolvedProfile& resolved, std::string_view connection_id) {
    const std::optional<std::string> no_cursor;
    const auto lookup = lookup_in(resolved, connection_id, no_cursor);
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : resolved.profile.headers) {
        headers[name] = TextTemplate{value}.render(lookup, Escaping::none).value_or(value);
    }
    return headers;
}

std::vector<std::string> opening_messages(const ResolvedProfile& resolved, std::string_view connection_id,
                                          const std::optional<std::string>& cursor) {
    const auto lookup = lookup_in(resolved, connection_id, cursor);
    std::vector<std::string> messages;
    const auto add = [&](const std::string& text) {
        if (auto message = TextTemplate{text}.render(lookup, escaping_of_message(text))) {
            messages.push_back(std::move(*message));
        }
    };
    for (const auto& text : resolved.profile.open.send) {
        add(text);
    }
    if (!resolved.profile.resume.message.empty()) {
        add(resolved.profile.resume.message);
    }
    return messages;
}

}  // namespace longhold::config
