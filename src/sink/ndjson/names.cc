// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <longhold/base/hash.h>

#include <algorithm>
#include <charconv>

namespace longhold::sink {
namespace {

constexpr std::string_view suffix = ".ndjson";
constexpr std::string_view hex = "0123456789ABCDEF";
constexpr std::size_t digits_min = 6;
constexpr std::size_t session_length_max = 200;

bool stays(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

}  // namespace

std::string session_in_name(const SessionId& session) {
    std::string name;
    for (const char c : session.text()) {
        if (stays(c) && !(c == '.' && name.empty())) {
            name += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        name += '%';
        name += hex[byte >> 4U];
        name += hex[byte & 15U];
    }
    if (name.size() > session_length_max) {
        std::uint64_t hash = stable_hash(session.text());
        name.resize(session_length_max - 17);
        name += '~';
        for (int i = 0; i < 16; ++i, hash <<= 4U) {
            name += hex[hash >> 60U];
        }
    }
    return name;
}

std::string file_name(std::string_view session_in_name, std::uint64_t number) {
    std::string digits = std::to_string(number);
    digits.insert(0, digits_min - std::min(digits_min, digits.size()), '0');
    return std::string{session_in_name} + "." + digits + std::string{suffix};
}

std::optional<FileName> parse_file_name(std::string_view name) {
    if (!name.ends_with(suffix)) {
        return std::nullopt;
    }
    const std::string_view stem = name.substr(0, name.size() - suffix.size());
    const std::size_t dot = stem.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || stem.size() - dot - 1 < digits_min) {
        return std::nullopt;
    }
    FileName parsed{.session = std::string{stem.substr(0, dot)}, .text = std::string{name}};
    const char* const end = stem.data() + stem.size();
    const auto result = std::from_chars(stem.data() + dot + 1, end, parsed.number);
    if (result.ec != std::errc{} || result.ptr != end) {
        return std::nullopt;
    }
    return parsed;
}

std::vector<FileName> sink_files(const std::vector<std::string>& names) {
    std::vector<FileName> found;
    for (const std::string& name : names) {
        if (auto parsed = parse_file_name(name)) {
            found.push_back(*std::move(parsed));
        }
    }
    std::ranges::sort(found);
    return found;
}

std::string path_of(std::string_view directory, std::string_view name) {
    std::string path{directory};
    if (!path.ends_with('/')) {
        path += '/';
    }
    path += name;
    return path;
}

}  // namespace longhold::sink
