// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/references.h>

#include <functional>

namespace longhold::config {
namespace {

constexpr std::string_view opening = "${";

// Takes a reference's kind and name, and gives its value.
using Resolve = std::function<std::expected<std::string, std::string>(std::string_view kind, std::string_view name)>;

std::expected<std::string, std::string> replace(std::string_view text, const Resolve& resolve) {
    std::string out;
    while (true) {
        const auto at = text.find(opening);
        if (at == std::string_view::npos) {
            return out.append(text);
        }
        if (at > 0 && text[at - 1] == '$') {
            out.append(text.substr(0, at - 1)).append(opening);
            text.remove_prefix(at + opening.size());
            continue;
        }
        out.append(text.substr(0, at));
        const auto end = text.find('}', at);
        const auto colon = text.find(':', at);
        if (end == std::string_view::npos || colon == std::string_view::npos || colon > end || colon + 1 == end) {
            return std::unexpected(
                "a reference that begins with \"${\" is not complete; write ${env:NAME} or ${file:PATH}, "
                "or $${ for a plain ${");
        }
        const auto kind = text.substr(at + 2, colon - at - 2);
        auto value = resolve(kind, text.substr(colon + 1, end - colon - 1));
        if (!value) {
            return value;
        }
        out += *value;
        text.remove_prefix(end + 1);
    }
}

std::unexpected<std::string> unknown_kind(std::string_view kind) {
    return std::unexpected("the reference ${" + std::string{kind} +
                           ":…} is of no known kind; write ${env:NAME} or ${file:PATH}");
}

}  // namespace

bool has_reference(std::string_view text) {
    return text.find(opening) != std::string_view::npos;
}

std::expected<std::string, std::string> resolve_references(std::string_view text, const ReferenceSources& sources) {
    return replace(
        text, [&sources](std::string_view kind, std::string_view name) -> std::expected<std::string, std::string> {
            if (kind == "env") {
                const auto found = sources.environment.find(name);
                if (found == sources.environment.end()) {
                    return std::unexpected("the environment has no " + std::string{name} +
                                           ", which ${env:" + std::string{name} + "} names; set it for this process");
                }
                return found->second;
            }
            if (kind == "file") {
                const std::string path{name};
                auto value =
                    sources.read_file ? sources.read_file(path) : std::unexpected<std::string>("no files here");
                if (!value) {
                    return std::unexpected("the file of ${file:" + path + "} cannot be read: " + value.error() +
                                           "; check its path and permissions");
                }
                if (value->ends_with('\n')) {
                    value->pop_back();
                }
                return value;
            }
            return unknown_kind(kind);
        });
}

std::expected<void, std::string> check_references(std::string_view text) {
    const auto checked =
        replace(text, [](std::string_view kind, std::string_view) -> std::expected<std::string, std::string> {
            if (kind == "env" || kind == "file") {
                return std::string{};
            }
            return unknown_kind(kind);
        });
    if (!checked) {
        return std::unexpected(checked.error());
    }
    return {};
}

std::string with_stand_in(std::string_view text, std::string_view stand_in) {
    return replace(text, [stand_in](std::string_view, std::string_view) { return std::string{stand_in}; })
        .value_or(std::string{text});
}

std::string without_password(std::string_view url) {
    const auto scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) {
        return std::string{url};
    }
    const auto authority = scheme_end + 3;
    const auto authority_end = url.find_first_of("/?#", authority);
    const auto at = url.substr(0, authority_end).rfind('@');
    const auto colon = url.find(':', authority);
    if (at == std::string_view::npos || at < authority || colon == std::string_view::npos || colon > at ||
        has_reference(url.substr(colon, at - colon))) {
        return std::string{url};
    }
    return std::string{url.substr(0, colon + 1)} + "***" + std::string{url.substr(at)};
}

}  // namespace longhold::config
