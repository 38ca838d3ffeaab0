// SPDX-License-Identifier: Apache-2.0
// The form of names that people give: connection ids, labels, namespaces.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace longhold::config {

// 1 to 128 characters of A-Z a-z 0-9 . _ : @ / - . Errors: a sentence that names the id.
[[nodiscard]] std::expected<void, std::string> check_connection_id(std::string_view id);

// Labels of one connection.
inline constexpr std::size_t labels_max = 64;

// Key: 1 to 63 characters of A-Z a-z 0-9 . _ / - ; value: up to 255 bytes of text without control characters.
[[nodiscard]] std::expected<void, std::string> check_label(std::string_view key, std::string_view value);

// "key=value". Errors: a sentence that names the text.
[[nodiscard]] std::expected<std::pair<std::string, std::string>, std::string> parse_label(std::string_view text);

// 1 to 64 characters of A-Z a-z 0-9 . _ - .
[[nodiscard]] std::expected<void, std::string> check_namespace(std::string_view name);

}  // namespace longhold::config
