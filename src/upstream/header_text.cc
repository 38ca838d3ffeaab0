// SPDX-License-Identifier: Apache-2.0
#include "header_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace longhold::upstream {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Walks the chunks of `body`, giving each to `take`. True when the last one was reached.
template <class Take>
bool walk_chunks(std::string_view body, Take take) {
    while (!body.empty()) {
        std::uint64_t size = 0;
        const auto [after, failure] = std::from_chars(body.data(), body.data() + body.size(), size, 16);
        const std::size_t line = body.find('\n');
        if (failure != std::errc{} || line == std::string_view::npos) {
            return false;
        }
        body.remove_prefix(line + 1);
        if (size == 0) {
            return true;
        }
        take(body.substr(0, size));
        if (size >= body.size()) {
            return false;
        }
        body.remove_prefix(size);
        body.remove_prefix(std::min(body.find('\n'), body.size() - 1) + 1);
    }
    return false;
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
    });
}

bool is_field_value(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || c == '\t';
    });
}

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t shown_max = 64;
    std::string out = "\"";
    for (const char c : text.substr(0, shown_max)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            out.push_back(c);
        } else {
            out += {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
        }
    }
    return out + (text.size() > shown_max ? "\"..." : "\"");
}

std::size_t head_end(std::string_view text, std::size_t from) {
    for (std::size_t line = text.find('\n', from); line != std::string_view::npos; line = text.find('\n', line + 1)) {
        if (text.substr(line + 1).starts_with('\n')) {
            return line + 2;
        }
        if (text.substr(line + 1).starts_with("\r\n")) {
            return line + 3;
        }
    }
    return std::string_view::npos;
}

std::string without_chunks(std::string_view body) {
    std::string out;
    walk_chunks(body, [&](std::string_view chunk) { out.append(chunk); });
    return out;
}

bool chunks_ended(std::string_view body) {
    return walk_chunks(body, [](std::string_view) {});
}

}  // namespace longhold::upstream
