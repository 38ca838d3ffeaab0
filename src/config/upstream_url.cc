// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/text_template.h>
#include <longhold/config/upstream_url.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace longhold::config {
namespace {

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_printable(char c) {
    return c > 0x20 && c < 0x7f && std::string_view{"\"<>\\^`{|}"}.find(c) == std::string_view::npos;
}

bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
}

// What is wrong with the characters of the URL; empty when nothing is.
std::string wrong_characters(std::string_view url) {
    for (std::size_t i = 0; i < url.size(); ++i) {
        if (!is_printable(url[i])) {
            return "character " + std::to_string(i + 1) + " is not allowed; percent-encode it";
        }
        if (url[i] == '%' && (i + 2 >= url.size() || !is_hex(url[i + 1]) || !is_hex(url[i + 2]))) {
            return "the \"%\" at character " + std::to_string(i + 1) + " is not followed by two hex digits; write %25";
        }
    }
    return {};
}

std::string wrong_port(std::string_view port) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc{} || end != port.data() + port.size() || number == 0 || number > 65'535) {
        return "the port \"" + std::string{port} + "\" is not a number of 1 to 65535; correct it or leave it out";
    }
    return {};
}

std::string wrong_authority(std::string_view authority) {
    if (authority.find('@') != std::string_view::npos) {
        return "it has a user name or password; put credentials into headers.Authorization";
    }
    std::string_view host = authority;
    std::string_view rest;
    if (authority.starts_with('[')) {
        const auto close = authority.find(']');
        if (close == std::string_view::npos) {
            return "the address in brackets has no end; write it like [::1]";
        }
        host = authority.substr(1, close - 1);
        rest = authority.substr(close + 1);
        if (host.empty() || !std::ranges::all_of(host, [](char c) { return is_hex(c) || c == ':' || c == '.'; })) {
            return "\"" + std::string{host} + "\" is no IPv6 address; correct it";
        }
        if (!rest.empty() && rest.front() != ':') {
            return "text follows the address in brackets; write it like [::1]:8080";
        }
    } else {
        const auto colon = authority.find(':');
        host = authority.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon);
        if (host.empty()) {
            return "it has no host; write it like wss://feed.example/path";
        }
        if (!std::ranges::all_of(host, is_host_char) || host.front() == '.' ||
            host.find("..") != std::string_view::npos || host.size() > 253) {
            return "\"" + std::string{host} + "\" is no host name; correct it";
        }
    }
    return rest.empty() ? std::string{} : wrong_port(rest.substr(1));
}

std::string wrong_url(std::string_view url) {
    if (url.empty()) {
        return "it is empty; write it like wss://feed.example/path";
    }
    std::size_t scheme = 0;
    if (url.starts_with("ws://")) {
        scheme = 5;
    } else if (url.starts_with("wss://")) {
        scheme = 6;
    } else {
        return "it does not begin with ws:// or wss://; a WebSocket URL does";
    }
    if (auto wrong = wrong_characters(url); !wrong.empty()) {
        return wrong;
    }
    if (url.find('#') != std::string_view::npos) {
        return "it has a fragment (\"#…\"), which no server sees; leave it out or write %23";
    }
    const auto end = url.find_first_of("/?", scheme);
    return wrong_authority(url.substr(scheme, end == std::string_view::npos ? end : end - scheme));
}

}  // namespace

std::expected<void, std::string> check_upstream_url(std::string_view url) {
    const std::string wrong = wrong_url(url);
    if (!wrong.empty()) {
        return std::unexpected("the URL \"" + std::string{url.substr(0, 300)} + "\" is malformed: " + wrong);
    }
    return {};
}

std::string with_query_parameter(std::string_view url, std::string_view name, std::string_view value) {
    const std::string encoded_name = percent_encoded(name);
    const auto question = url.find('?');
    std::string out{url.substr(0, question)};
    char separator = '?';
    std::string_view rest = question == std::string_view::npos ? std::string_view{} : url.substr(question + 1);
    while (!rest.empty()) {
        const auto end = rest.find('&');
        const auto pair = rest.substr(0, end);
        const auto key = pair.substr(0, pair.find('='));
        if (!pair.empty() && key != name && key != encoded_name) {
            out += separator;
            out += pair;
            separator = '&';
        }
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    out += separator;
    return out + encoded_name + "=" + percent_encoded(value);
}

}  // namespace longhold::config
