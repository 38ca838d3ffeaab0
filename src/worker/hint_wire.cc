// SPDX-License-Identifier: Apache-2.0
#include "hint_wire.h"

#include <longhold/runtime/hmac.h>

#include <algorithm>
#include <utility>

namespace longhold::worker {
namespace {

constexpr std::string_view first_line = "longhold-hint 1";
constexpr std::size_t value_bytes_max = 256;

std::string_view take_line(std::string_view& rest) {
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
}

std::unexpected<std::string> bad(std::string_view what, std::string_view line) {
    return std::unexpected(std::string{what} + ": \"" + std::string{line.substr(0, value_bytes_max)} + '"');
}

}  // namespace

std::string encode(const HintMessage& message) {
    std::string text{first_line};
    const auto add = [&text](std::string_view name, std::string_view value) {
        text.append("\n").append(name).append(" ").append(value);
    };
    add("kind", core::text(message.hint.kind));
    add("from", message.from.text());
    add("to", message.to.text());
    add("about", message.hint.session.text());
    for (const auto& connection : message.hint.connections) {
        add("connection", connection.text());
    }
    text += '\n';
    return text;
}

std::expected<HintMessage, std::string> decode(std::string_view text) {
    if (take_line(text) != first_line) {
        return std::unexpected("not a hint of version 1");
    }
    HintMessage message;
    bool kind_known = false;
    while (!text.empty()) {
        const auto line = take_line(text);
        const auto space = line.find(' ');
        if (space == std::string_view::npos || line.size() - space - 1 > value_bytes_max || space + 1 == line.size()) {
            return bad("a line is no name and value", line);
        }
        const auto name = line.substr(0, space);
        const auto value = line.substr(space + 1);
        if (name == "kind") {
            const auto kind = core::hint_kind(value);
            if (!kind) {
                return bad("no kind of hint", line);
            }
            message.hint.kind = *kind;
            kind_known = true;
        } else if (name == "from") {
            message.from = SessionId{value};
        } else if (name == "to") {
            message.to = SessionId{value};
        } else if (name == "about") {
            message.hint.session = SessionId{value};
        } else if (name == "connection") {
            if (message.hint.connections.size() == core::hint_connections_max) {
                return std::unexpected("more than " + std::to_string(core::hint_connections_max) + " connections");
            }
            message.hint.connections.emplace_back(value);
        }  // another name is of a later version, and does no harm
    }
    if (!kind_known || message.to.empty() || message.from.empty()) {
        return std::unexpected("kind, from or to is missing");
    }
    return message;
}

std::string signature_of(std::string_view text, std::string_view key) {
    return "sha256=" + runtime::hmac_sha256_hex(key, text);
}

bool signed_by_any(std::string_view text, std::string_view signature, const std::vector<std::string>& keys) {
    return std::ranges::any_of(keys, [&](const auto& key) {
        return !key.empty() && runtime::equal_in_constant_time(signature_of(text, key), signature);
    });
}

}  // namespace longhold::worker
