// SPDX-License-Identifier: Apache-2.0
// ConnectionSpec: what a connection row's `spec` says: URL, profile, variables, and any profile key as an override.
//
//   {"url":"wss://feed.example/ws","profile":"plain","variables":{"token":"${env:TOKEN}"},"sequence":{"field":"/seq"}}
#pragma once

#include <longhold/config/problem.h>
#include <longhold/config/profile.h>
#include <longhold/config/references.h>

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace longhold::config {

struct ConnectionSpec {
    std::string url;
    std::string profile = "plain";
    std::map<std::string, std::string> variables;
    std::string overrides = "{}";  // JSON object of profile keys, canonical

    friend bool operator==(const ConnectionSpec&, const ConnectionSpec&) = default;
};

inline constexpr std::size_t spec_bytes_max = 64UL * 1024;

// Reads and checks the form of every key. `source` names the document in problems.
[[nodiscard]] std::expected<ConnectionSpec, Problems> parse_spec(std::string_view json, std::string_view source);

// One line of JSON with sorted keys; equal specs give equal text. What stores keep.
[[nodiscard]] std::string spec_text(const ConnectionSpec& spec);

// Whether the spec can be used with these profiles: the profile exists, and what the merge gives is sound. Looks no
// reference up.
[[nodiscard]] Problems check_spec(const ConnectionSpec& spec, const ProfileSet& profiles, const std::string& source);

// Merges profile and overrides (headers by name, lists whole, one resume form replaces the other) and resolves
// references.
[[nodiscard]] std::expected<ResolvedProfile, Problems> resolve_profile(const ConnectionSpec& spec,
                                                                       const ProfileSet& profiles,
                                                                       const ReferenceSources& sources,
                                                                       const std::string& source);

// The spec document `json` with the key at `path` ("url", "sequence.field", "headers.X-Key", "variables.token") set
// from text, typed by the key: what `connection put --set path=value` does. `json` may be empty.
[[nodiscard]] std::expected<std::string, Problem> spec_with(std::string_view json, std::string_view path,
                                                            std::string_view value);

}  // namespace longhold::config
