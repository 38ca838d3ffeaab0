// SPDX-License-Identifier: Apache-2.0
// The form of a WebSocket URL, and its query.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace longhold::config {

// ws:// or wss:// with a host, an optional port, no user information and no fragment (RFC 6455, section 3). Errors: a
// sentence that names the URL and what is wrong with it.
[[nodiscard]] std::expected<void, std::string> check_upstream_url(std::string_view url);

// `url` with the query parameter set to the value, percent-encoded; replaces a parameter of that name.
[[nodiscard]] std::string with_query_parameter(std::string_view url, std::string_view name, std::string_view value);

}  // namespace longhold::config
