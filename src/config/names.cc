// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/names.h>

#include <algorithm>

namespace longhold::config {
namespace {

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Why `name` is not 1 to `size_max` alphanumeric characters or `others`.
std::expected<void, std::string> check_name(std::string_view kind, std::string_view name, std::size_t size_max,
                                            std::string_view others) {
    const std::string subject = std::string{kind} + " \"" + std::string{name.substr(0, 200)} + "\"";
    const std::string remedy =
        "; use 1 to " + std::to_string(size_max) + " characters of A-Z a-z 0-9 and " + std::string{others};
    if (name.empty()) {
        return std::unexpected(std::string{kind} + " is empty" + remedy);
    }
    if (name.size() > size_max) {
        return std::unexpected(subject + " has " + std::to_string(name.size()) + " characters" + remedy);
    }
    const auto bad = std::ranges::find_if(
        name, [others](char c) { return !is_alphanumeric(c) && others.find(c) == std::string_view::npos; });
    if (bad != name.end()) {
        return std::unexpected(subject + " has a character that is not allowed, at position " +
                               std::to_string(bad - name.begin() + 1) + remedy);
    }
    return {};
}

}  // namespace

std::expected<void, std::string> check_connection_id(std::string_view id) {
    return check_name("the connection id", id, 128, "._:@/-");
}

std::expected<void, std::string> check_label(std::string_view key, std::string_view value) {
    if (auto checked = check_name("the label key", key, 63, "._/-"); !checked) {
        return checked;
    }
    if (value.size() > 255) {
        return std::unexpected("the value of label \"" + std::string{key} + "\" has " + std::to_string(value.size()) +
                               " bytes; use at most 255");
    }
    if (std::ranges::any_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
        return std::unexpected("the value of label \"" + std::string{key} +
                               "\" has a control character; use plain text");
    }
    return {};
}

std::expected<std::pair<std::string, std::string>, std::string> parse_label(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) {
        return std::unexpected("\"" + std::string{text} + "\" is no label: it has no \"=\"; write it like region=eu");
    }
    const auto key = text.substr(0, equals);
    const auto value = text.substr(equals + 1);
    if (auto checked = check_label(key, value); !checked) {
        return std::unexpected(checked.error());
    }
    return std::pair{std::string{key}, std::string{value}};
}

std::expected<void, std::string> check_namespace(std::string_view name) {
    return check_name("the namespace", name, 64, "._-");
}

}  // namespace longhold::config
