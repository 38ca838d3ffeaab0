// SPDX-License-Identifier: Apache-2.0
// Url: where a WebSocket connection goes.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace longhold::upstream {

// A ws:// or wss:// URL taken apart. Made by parse_url() only.
struct Url {
    bool secure = false;
    std::string host;  // lower case; without brackets for an IPv6 address
    bool ipv6 = false;
    std::uint16_t port = 80;
    std::string target;  // path and query as they are sent; begins with '/'

    // As the Host header has it: with brackets where needed, with the port where it is not the scheme's own.
    [[nodiscard]] std::string authority() const;
    // The whole URL. May hold secrets in its query: not for logs.
    [[nodiscard]] std::string text() const;

    friend bool operator==(const Url&, const Url&) = default;
};

// Reads `text`. Errors: a sentence that says what is wrong and what to do; it never repeats user information or a
// query, which may be secrets.
[[nodiscard]] std::expected<Url, std::string> parse_url(std::string_view text);

// Adds `name=value` to the query of `url`, both percent-encoded.
void add_query_parameter(Url& url, std::string_view name, std::string_view value);

// `text` with all but RFC 3986's unreserved characters percent-encoded.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace longhold::upstream
