// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <longhold/base/json_text.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace longhold::mock {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string lowered(std::string_view text) {
    std::string out{text};
    std::ranges::transform(out, out.begin(), lower);
    return out;
}

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

int hex_digit(char c) {
    const char small = lower(c);
    return c >= '0' && c <= '9' ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

std::unexpected<Refusal> refused(std::string reason) {
    return std::unexpected(Refusal{400, std::move(reason)});
}

std::string_view phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 426:
            return "Upgrade Required";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        default:
            return "Fault";
    }
}

bool is_key(std::string_view key) {
    const auto is_digit = [](char c) {
        return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
    };
    return key.size() == 24 && key.ends_with("==") && std::ranges::all_of(key.substr(0, 22), is_digit);
}

}  // namespace

std::optional<std::string> Target::value(std::string_view name) const {
    const auto found = std::ranges::find(query, name, &FaultWords::value_type::first);
    return found == query.end() ? std::nullopt : std::optional{found->second};
}

std::string_view Request::header(std::string_view name) const {
    const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
    return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

bool Request::has_token(std::string_view name, std::string_view token) const {
    for (const auto& [header_name, value] : headers) {
        std::string_view rest = header_name == name ? std::string_view{value} : std::string_view{};
        while (!rest.empty()) {
            const auto comma = std::min(rest.find(','), rest.size());
            if (lowered(trimmed(rest.substr(0, comma))) == token) {
                return true;
            }
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return false;
}

std::expected<Target, Refusal> parse_target(std::string_view text) {
    if (!text.starts_with('/')) {
        return refused("the request target does not begin with /");
    }
    Target target;
    const auto mark = std::min(text.find('?'), text.size());
    auto path = decoded(text.substr(0, mark));
    if (!path) {
        return refused("the path is not well percent-encoded");
    }
    target.path = std::move(*path);
    std::string_view rest = text.substr(std::min(mark + 1, text.size()));
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const std::string_view word = rest.substr(0, end);
        const auto equals = std::min(word.find('='), word.size());
        auto name = decoded(word.substr(0, equals));
        auto value = decoded(word.substr(std::min(equals + 1, word.size())));
        if (!name || !value) {
            return refused("the query is not well percent-encoded");
        }
        target.query.emplace_back(std::move(*name), std::move(*value));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return target;
}

std::expected<Request, Refusal> parse_request(std::string_view head) {
    Request request;
    auto line_end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, line_end);
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == std::string_view::npos || first == last || line.substr(last + 1) != "HTTP/1.1") {
        return refused("the request line is not one of HTTP/1.1");
    }
    request.method = line.substr(0, first);
    auto target = parse_target(line.substr(first + 1, last - first - 1));
    if (!target) {
        return std::unexpected(target.error());
    }
    request.target = std::move(*target);
    while (line_end < head.size()) {
        const auto begin = line_end + 2;
        line_end = std::min(head.find("\r\n", begin), head.size());
        const std::string_view field = head.substr(begin, line_end - begin);
        const auto colon = field.find(':');
        if (colon == std::string_view::npos || colon == 0 ||
            field.substr(0, colon).find_first_of(" \t") != std::string_view::npos) {
            return refused("a header line is not one");
        }
        request.headers.emplace_back(lowered(field.substr(0, colon)), trimmed(field.substr(colon + 1)));
    }
    return request;
}

std::optional<std::string> accept_key(std::string_view key) {
    if (!is_key(key)) {
        return std::nullopt;
    }
    const std::string text = std::string{key} + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
        return std::nullopt;
    }
    std::string out;
    append_base64(out, std::string_view{reinterpret_cast<const char*>(digest.data()), size});
    return out;
}

std::string http_answer(int status, std::string_view content_type, std::string_view body,
                        std::string_view more_headers) {
    std::string out = "HTTP/1.1 " + std::to_string(status) + ' ';
    out += phrase(status);
    out += "\r\nConnection: close\r\nContent-Type: ";
    out += content_type;
    out += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    out += more_headers;
    out += "\r\n";
    out += body;
    return out;
}

}  // namespace longhold::mock
