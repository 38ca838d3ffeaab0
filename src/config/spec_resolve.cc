// SPDX-License-Identifier: Apache-2.0
// Merging a spec with its profile, and filling in references.
#include <longhold/config/connection_spec.h>
#include <longhold/config/suggestion.h>
#include <longhold/config/text_template.h>
#include <longhold/config/upstream_url.h>

#include "profile_keys.h"

namespace longhold::config {
namespace {

// The profile with the spec's overrides, references unresolved.
std::expected<Profile, Problems> merge(const ConnectionSpec& spec, const ProfileSet& profiles,
                                       const std::string& source) {
    const auto found = profiles.find(spec.profile);
    if (found == profiles.end()) {
        std::vector<std::string> names;
        for (const auto& [name, profile] : profiles) {
            names.push_back(name);
        }
        const auto meant = nearest(spec.profile, names);
        return std::unexpected(Problems{
            {.what = "there is no profile \"" + spec.profile + "\"",
             .where = source,
             .remedy = (meant ? "did you mean " + *meant + "? " : std::string{}) +
                       "`longhold profile list` shows the profiles; further ones come from profiles.directory"}});
    }
    Profile merged = found->second;
    Problems problems;
    const auto overrides = parse_json(spec.overrides, source);
    if (!overrides) {
        return std::unexpected(Problems{overrides.error()});
    }
    apply_profile_keys(merged, *overrides, source, problems);
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return merged;
}

struct SpecChecker {
    const ConnectionSpec& spec;
    const std::string& source;
    Problems& problems;

    void placeholders(const std::string& key, const std::string& text, bool cursor_allowed) const {
        for (const auto& name : TextTemplate{text}.names()) {
            const bool known = name == "connection_id" || (name == "cursor" && cursor_allowed);
            if (known || spec.variables.contains(name)) {
                continue;
            }
            problems.push_back(
                {.what = key + " has {" + name + "}, which has no value" + (name == "cursor" ? " there" : ""),
                 .where = source,
                 .remedy = name == "cursor" ? "use {cursor} in open.send and resume.message only"
                                            : "set variables." + name + ", or remove it"});
        }
    }

    void url() const {
        if (const auto checked = check_references(spec.url); !checked) {
            report(checked.error());
            return;
        }
        placeholders("url", spec.url, false);
        const auto stand_in = [](std::string_view) { return std::optional<std::string>{"1"}; };
        const auto filled = TextTemplate{with_stand_in(spec.url, "1")}.render(stand_in, Escaping::query).value_or("");
        if (const auto checked = check_upstream_url(filled); !checked) {
            report(filled == spec.url ? checked.error()
                                      : check_upstream_url(filled).error() + " (with 1 for what is filled in)");
        }
    }

    void report(const std::string& sentence) const {
        auto complaint = complaint_from(sentence);
        problems.push_back({.what = std::move(complaint.what), .where = source, .remedy = std::move(complaint.remedy)});
    }

    void all(const Profile& merged) const {
        url();
        for (const auto& [name, value] : merged.headers) {
            placeholders("headers." + name, value, true);  // {cursor} there is check_profile()'s
        }
        for (const auto& text : merged.open.send) {
            placeholders("open.send", text, true);
        }
        placeholders("resume.message", merged.resume.message, true);
        const auto more = check_profile(merged, source);
        problems.insert(problems.end(), more.begin(), more.end());
    }
};

// Fills in references in place, and reports those that have no value.
class Resolver {
public:
    Resolver(const ReferenceSources& sources, const std::string& source, Problems& problems)
        : sources_(sources), source_(source), problems_(problems) {}

    void fill(const std::string& key, std::string& text) const {
        if (!has_reference(text)) {
            return;
        }
        auto value = resolve_references(text, sources_);
        if (value) {
            text = std::move(*value);
            return;
        }
        auto complaint = complaint_from(value.error());
        problems_.push_back(
            {.what = key + ": " + complaint.what, .where = source_, .remedy = std::move(complaint.remedy)});
    }

    void fill(ResolvedProfile& resolved) const {
        fill("url", resolved.url);
        for (auto& [name, value] : resolved.variables) {
            fill("variables." + name, value);
        }
        for (auto& [name, value] : resolved.profile.headers) {
            fill("headers." + name, value);
            if (value.find_first_of("\r\n") != std::string::npos) {
                problems_.push_back({.what = "headers." + name + " has a line break once its references are filled in",
                                     .where = source_,
                                     .remedy = "look at what the reference gives"});
            }
        }
        for (auto& text : resolved.profile.open.send) {
            fill("open.send", text);
        }
        fill("resume.message", resolved.profile.resume.message);
    }

private:
    const ReferenceSources& sources_;
    const std::string& source_;
    Problems& problems_;
};

}  // namespace

Problems check_spec(const ConnectionSpec& spec, const ProfileSet& profiles, const std::string& source) {
    const auto merged = merge(spec, profiles, source);
    if (!merged) {
        return merged.error();
    }
    Problems problems;
    SpecChecker{spec, source, problems}.all(*merged);
    return problems;
}

std::expected<ResolvedProfile, Problems> resolve_profile(const ConnectionSpec& spec, const ProfileSet& profiles,
                                                         const ReferenceSources& sources, const std::string& source) {
    auto problems = check_spec(spec, profiles, source);
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    auto merged = merge(spec, profiles, source);
    if (!merged) {
        return std::unexpected(std::move(merged.error()));
    }
    ResolvedProfile resolved{.url = spec.url, .variables = spec.variables, .profile = std::move(*merged)};
    Resolver{sources, source, problems}.fill(resolved);
    if (problems.empty() && !check_upstream_url(dial_url(resolved, "id", std::nullopt))) {
        problems.push_back({.what = "the URL \"" + spec.url + "\" is malformed once it is filled in",
                            .where = source,
                            .remedy = "look at what its references and variables give"});
    }
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return resolved;
}

}  // namespace longhold::config
