// SPDX-License-Identifier: Apache-2.0
#include "profile_keys.h"

#include <algorithm>

namespace longhold::config {
namespace {

using Checked = std::expected<void, std::string>;
using Rows = std::vector<Key<Profile>>;

// RFC 6901, section 3.
Checked check_pointer(std::string_view pointer) {
    const std::string subject = "\"" + std::string{pointer} + "\" is no JSON pointer: ";
    if (!pointer.empty() && pointer.front() != '/') {
        return std::unexpected(subject + "it does not begin with \"/\"; write it like /data/seq");
    }
    for (std::size_t i = 0; i < pointer.size(); ++i) {
        if (pointer[i] == '~' && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1'))) {
            return std::unexpected(subject + "a \"~\" is not followed by 0 or 1; write ~0 for \"~\" and ~1 for \"/\"");
        }
    }
    return {};
}

bool is_token_char(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

Checked check_token(std::string_view text) {
    if (text.empty() || !std::ranges::all_of(text, is_token_char)) {
        return std::unexpected(
            "\"" + std::string{text} +
            "\" has characters that a subprotocol cannot have; use letters, digits, \"-\" and \".\"");
    }
    return {};
}

Checked check_header_value(std::string_view value) {
    const auto bad = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; };
    if (std::ranges::any_of(value, bad)) {
        return std::unexpected("a value has a control character; write it in one line");
    }
    return check_references(value);
}

Checked check_parameter(std::string_view name) {
    const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == '&' || c == '=' || c == '#'; };
    if (std::ranges::any_of(name, bad)) {
        return std::unexpected("\"" + std::string{name} +
                               "\" cannot name a query parameter; leave out spaces, &, = and #");
    }
    return {};
}

Checked check_server_name(std::string_view name) {
    const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == '/' || c == ':' || c == '@'; };
    if (name.size() > 253 || std::ranges::any_of(name, bad)) {
        return std::unexpected("\"" + std::string{name} + "\" is no host name; write it like feed.example");
    }
    return {};
}

void add_message_keys(Rows& rows) {
    rows.push_back({{.path = "description", .summary = "One line for people."},
                    [](Profile& profile) -> Field { return &profile.description; }});
    rows.push_back({{.path = "headers",
                     .summary = "Header fields of the handshake; placeholders and references are filled in.",
                     .check = check_header_value,
                     .references = true},
                    [](Profile& profile) -> Field { return &profile.headers; }});
    rows.push_back({{.path = "subprotocols", .summary = "Subprotocols offered, best first.", .check = check_token},
                    [](Profile& profile) -> Field { return &profile.subprotocols; }});
    rows.push_back(
        {{.path = "open.send",
          .summary = "Texts sent once the connection is open, in order; one that has `{cursor}` only when there "
                     "is a cursor. Placeholders and references are filled in.",
          .check = check_references,
          .references = true},
         [](Profile& profile) -> Field { return &profile.open.send; }});
    rows.push_back({{.path = "sequence.field",
                     .summary = "JSON pointer to a message's sequence, a number or a string; empty: there is none.",
                     .check = check_pointer},
                    [](Profile& profile) -> Field { return &profile.sequence.field; }});
    rows.push_back(
        {{.path = "sequence.first",
          .summary = "Where the upstream's numbering begins, so that a restart of it is replayed from there."},
         [](Profile& profile) -> Field { return &profile.sequence.first; }});
    rows.push_back({{.path = "resume.query",
                     .summary = "Query parameter that takes the cursor when dialling again.",
                     .check = check_parameter},
                    [](Profile& profile) -> Field { return &profile.resume.query; }});
    rows.push_back({{.path = "resume.message",
                     .summary = "Text with `{cursor}`, sent after open.send when there is a cursor.",
                     .check = check_references,
                     .references = true},
                    [](Profile& profile) -> Field { return &profile.resume.message; }});
    rows.push_back(
        {{.path = "resume.inclusive",
          .summary = "Whether the upstream repeats the message at the cursor itself; the repeat is dropped."},
         [](Profile& profile) -> Field { return &profile.resume.inclusive; }});
}

void add_transport_keys(Rows& rows) {
    rows.push_back(
        {{.path = "liveness.ping_every", .summary = "Time between pings, 100 ms or more; 0: none.", .greatest = "24h"},
         [](Profile& profile) -> Field { return &profile.liveness.ping_every; }});
    rows.push_back({{.path = "liveness.ping_timeout",
                     .summary = "How long after a ping nothing may arrive before the connection counts as dead.",
                     .least = "1ms",
                     .greatest = "24h"},
                    [](Profile& profile) -> Field { return &profile.liveness.ping_timeout; }});
    rows.push_back(
        {{.path = "limits.frame_bytes", .summary = "Largest frame taken.", .least = "125B", .greatest = "1GiB"},
         [](Profile& profile) -> Field { return &profile.limits.frame_bytes; }});
    rows.push_back(
        {{.path = "limits.message_bytes", .summary = "Largest message taken.", .least = "125B", .greatest = "1GiB"},
         [](Profile& profile) -> Field { return &profile.limits.message_bytes; }});
    rows.push_back({{.path = "attempt_timeout",
                     .summary = "Budget of one attempt, from name resolution to the end of the handshake.",
                     .least = "1ms",
                     .greatest = "1h"},
                    [](Profile& profile) -> Field { return &profile.attempt_timeout; }});
    rows.push_back({{.path = "close_timeout",
                     .summary = "How long the upstream may take to answer a close frame; in a drain at most 500 ms.",
                     .greatest = "1m"},
                    [](Profile& profile) -> Field { return &profile.close_timeout; }});
    rows.push_back({{.path = "tls.verify", .summary = "Whether the certificate must verify."},
                    [](Profile& profile) -> Field { return &profile.tls.verify; }});
    rows.push_back({{.path = "tls.ca_file", .summary = "PEM file of certificates to trust; empty: the system's."},
                    [](Profile& profile) -> Field { return &profile.tls.ca_file; }});
    rows.push_back({{.path = "tls.server_name",
                     .summary = "Name for SNI and verification; empty: the URL's host.",
                     .check = check_server_name},
                    [](Profile& profile) -> Field { return &profile.tls.server_name; }});
}

Rows build_table() {
    Rows rows;
    add_message_keys(rows);
    add_transport_keys(rows);
    return rows;
}

bool same_header(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<Complaint> check_header_name(const std::string& name) {
    if (name.empty() || !std::ranges::all_of(name, is_token_char)) {
        return Complaint{"headers has the name \"" + name + "\", which no header field can have",
                         "use letters, digits and \"-\""};
    }
    for (const auto* const reserved :
         {"Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
          "Sec-WebSocket-Extensions", "Content-Length", "Transfer-Encoding"}) {
        if (same_header(name, reserved)) {
            return Complaint{"headers sets " + name + ", which the handshake itself sets",
                             same_header(name, "Sec-WebSocket-Protocol") ? "use subprotocols" : "remove it"};
        }
    }
    return std::nullopt;
}

std::optional<Complaint> merge_headers(Profile& profile, const KeyRules& rules, const Node& node) {
    std::map<std::string, std::string> headers;
    if (auto complaint = assign(Field{&headers}, rules, node)) {
        return complaint;
    }
    for (const auto& [name, value] : headers) {
        if (auto complaint = check_header_name(name)) {
            return complaint;
        }
        std::erase_if(profile.headers, [&name](const auto& header) { return same_header(header.first, name); });
        profile.headers[name] = value;
    }
    return std::nullopt;
}

}  // namespace

const std::vector<Key<Profile>>& profile_table() {
    static const Rows rows = build_table();
    return rows;
}

std::vector<KeyDescription> profile_keys() {
    return describe(profile_table());
}

void apply_profile_keys(Profile& profile, const Node& root, const std::string& source, Problems& problems,
                        std::span<const std::string> others) {
    auto paths = paths_of(profile_table());
    paths.insert(paths.end(), others.begin(), others.end());
    bool sets_query = false;
    bool sets_message = false;
    walk_keys(root, paths, source, problems, [&](const std::string& path, const Node& node) {
        const auto* key = find_key(profile_table(), path);
        if (key == nullptr) {
            return;
        }
        sets_query |= path == "resume.query" && node.text() != nullptr && !node.text()->empty();
        sets_message |= path == "resume.message" && node.text() != nullptr && !node.text()->empty();
        const auto complaint = path == "headers" ? merge_headers(profile, key->rules, node)
                                                 : assign(key->field(profile), key->rules, node);
        if (complaint) {
            problems.push_back(
                {.what = complaint->what, .where = place_text(source, node.place), .remedy = complaint->remedy});
        }
    });
    if (sets_query && !sets_message) {
        profile.resume.message.clear();
    }
    if (sets_message && !sets_query) {
        profile.resume.query.clear();
    }
}

}  // namespace longhold::config
