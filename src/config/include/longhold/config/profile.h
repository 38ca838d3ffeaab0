// SPDX-License-Identifier: Apache-2.0
// Profile: an upstream's protocol as data, and ResolvedProfile, which is what a worker dials by.
//
// Keys are described once, in profile_keys.cc; docs/profiles.md is checked against that table. Texts keep their
// references and placeholders until resolve_profile() and the functions below fill them in.
#pragma once

#include <longhold/base/time.h>
#include <longhold/config/byte_size.h>
#include <longhold/config/problem.h>
#include <longhold/config/references.h>
#include <longhold/config/settings.h>

#include <compare>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::config {

struct ProfileOpen {
    std::vector<std::string> send;  // texts, in order; one that names {cursor} is sent only when there is a cursor

    friend auto operator<=>(const ProfileOpen&, const ProfileOpen&) = default;
};

struct ProfileSequence {
    std::string field;                   // JSON pointer into a message; empty: the upstream has no sequence
    std::optional<std::uint64_t> first;  // where the upstream's numbering begins

    friend auto operator<=>(const ProfileSequence&, const ProfileSequence&) = default;
};

// At most one of query and message is set; neither: the upstream cannot replay.
struct ProfileResume {
    std::string query;       // parameter that takes the cursor
    std::string message;     // template with {cursor}, sent after open.send
    bool inclusive = false;  // the upstream repeats the message at the cursor itself

    friend auto operator<=>(const ProfileResume&, const ProfileResume&) = default;
};

struct ProfileLiveness {
    Duration ping_every = 20s;  // 0: no pings
    Duration ping_timeout = 10s;

    friend auto operator<=>(const ProfileLiveness&, const ProfileLiveness&) = default;
};

struct ProfileLimits {
    ByteSize frame_bytes{16 * mebibyte};
    ByteSize message_bytes{16 * mebibyte};

    friend auto operator<=>(const ProfileLimits&, const ProfileLimits&) = default;
};

struct ProfileTls {
    bool verify = true;
    std::string ca_file;      // PEM; empty: the system's
    std::string server_name;  // for SNI and verification; empty: the URL's host

    friend auto operator<=>(const ProfileTls&, const ProfileTls&) = default;
};

struct Profile {
    std::string name;
    std::string description;
    std::map<std::string, std::string> headers;
    std::vector<std::string> subprotocols;
    ProfileOpen open;
    ProfileSequence sequence;
    ProfileResume resume;
    ProfileLiveness liveness;
    ProfileLimits limits;
    Duration attempt_timeout = 10s;  // name resolution to the end of the handshake
    Duration close_timeout = 2s;     // from our close frame to the socket's end
    ProfileTls tls;

    [[nodiscard]] bool has_sequence() const { return !sequence.field.empty(); }

    [[nodiscard]] bool can_resume() const { return !resume.query.empty() || !resume.message.empty(); }

    friend auto operator<=>(const Profile&, const Profile&) = default;
};

// What one connection dials by: profile and overrides of its spec, references resolved. Holds secrets: never logged
// whole.
struct ResolvedProfile {
    std::string url;
    std::map<std::string, std::string> variables;
    Profile profile;

    friend bool operator==(const ResolvedProfile&, const ResolvedProfile&) = default;
};

// The profiles that specs may name.
using ProfileSet = std::map<std::string, Profile, std::less<>>;

// Reads one profile. `source` names the text in problems. The result has passed check_profile().
[[nodiscard]] std::expected<Profile, Problems> parse_profile(std::string_view name, std::string_view toml,
                                                             std::string_view source);

// What the keys of a profile must keep together; `where` goes into the problems.
[[nodiscard]] Problems check_profile(const Profile& profile, const std::string& where);

// Name and TOML text of each profile inside the program.
[[nodiscard]] const std::map<std::string, std::string, std::less<>>& shipped_profiles();

// The shipped profiles, and those of `directory`/*.toml where it is not empty (name = file name without .toml). Errors:
// all problems, also for a name that is shipped already.
[[nodiscard]] std::expected<ProfileSet, Problems> load_profiles(const std::string& directory);

// The profile as TOML, every key with its value.
[[nodiscard]] std::string profile_toml(const Profile& profile);
[[nodiscard]] std::string profile_json(const Profile& profile);

// The table of profile keys.
[[nodiscard]] std::vector<KeyDescription> profile_keys();

// ---- what is sent; `cursor` is the text to resume from, absent at a fresh start

// The URL to dial, with the cursor in its query where the profile resumes so.
[[nodiscard]] std::string dial_url(const ResolvedProfile& resolved, std::string_view connection_id,
                                   const std::optional<std::string>& cursor);

// Header fields of the handshake.
[[nodiscard]] std::map<std::string, std::string> dial_headers(const ResolvedProfile& resolved,
                                                              std::string_view connection_id);

// The text messages to send once open, in order: open.send, then resume.message where there is a cursor.
[[nodiscard]] std::vector<std::string> opening_messages(const ResolvedProfile& resolved, std::string_view connection_id,
                                                        const std::optional<std::string>& cursor);

}  // namespace longhold::config
