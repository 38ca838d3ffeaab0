// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <longhold/upstream/url.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace longhold::upstream {
namespace {

using Failure = std::unexpected<std::string>;

constexpr std::size_t host_length_max = 253;

std::string lower(std::string_view text) {
    std::string out{text};
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

bool alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::expected<bool, std::string> read_scheme(std::string_view& text) {
    const std::size_t end = text.find("://");
    if (end == std::string_view::npos) {
        return Failure{"a URL begins with ws:// or wss://"};
    }
    const std::string scheme = lower(text.substr(0, end));
    text.remove_prefix(end + 3);
    if (scheme == "ws" || scheme == "wss") {
        return scheme == "wss";
    }
    if (scheme == "http" || scheme == "https") {
        return Failure{"the scheme is " + scheme + "://; write " + (scheme == "http" ? "ws" : "wss") + ":// instead"};
    }
    return Failure{"the scheme is not one of ws:// and wss://"};
}

std::string check_name(std::string_view host) {
    if (host.empty()) {
        return "the host is missing";
    }
    if (host.size() > host_length_max) {
        return "the host name is longer than " + std::to_string(host_length_max) + " characters";
    }
    for (const char c : host) {
        if (static_cast<unsigned char>(c) >= 0x80) {
            return "the host name has characters beyond ASCII; write it in its xn-- form";
        }
        if (!alphanumeric(c) && c != '-' && c != '.' && c != '_') {
            return std::string{"the host name has the character '"} + c + "', which no host name may have";
        }
    }
    if (host.front() == '.' || host.find("..") != std::string_view::npos) {
        return "the host name has an empty part";
    }
    return {};
}

// Takes the host off the front of `authority`; what is left is the port with its colon, or nothing.
std::string read_host(std::string_view& authority, Url& url) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) {
            return "the IPv6 address has no closing bracket";
        }
        url.host = lower(authority.substr(1, end - 1));
        url.ipv6 = true;
        in6_addr address{};
        if (::inet_pton(AF_INET6, url.host.c_str(), &address) != 1) {
            return "\"[" + url.host + "]\" is not an IPv6 address";
        }
        authority.remove_prefix(end + 1);
        return {};
    }
    if (std::ranges::count(authority, ':') > 1) {
        return "an IPv6 address stands in brackets, as in ws://[::1]:8080/";
    }
    const std::size_t end = std::min(authority.find(':'), authority.size());
    url.host = lower(authority.substr(0, end));
    authority.remove_prefix(end);
    return check_name(url.host);
}

std::string read_port(std::string_view text, Url& url) {
    url.port = url.secure ? 443 : 80;
    if (text.empty()) {
        return {};
    }
    if (text.front() != ':') {
        return "after the IPv6 address only a port may follow, as in ws://[::1]:8080/";
    }
    text.remove_prefix(1);
    std::uint16_t port = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure != std::errc{} || end != text.data() + text.size() || port == 0) {
        return "the port is not a number from 1 to 65535";
    }
    url.port = port;
    return {};
}

std::string read_target(std::string_view text, Url& url) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= 0x20 || byte >= 0x7f) {
            return "the path or query has a space, a control character or one beyond ASCII; percent-encode it";
        }
        if (c == '#') {
            return "the URL has a fragment (#), which WebSocket URLs may not have; write %23 if it belongs to the path";
        }
    }
    url.target = text.starts_with('/') ? std::string{text} : "/" + std::string{text};
    return {};
}

}  // namespace

std::string Url::authority() const {
    std::string out = ipv6 ? "[" + host + "]" : host;
    if (port != (secure ? 443 : 80)) {
        out += ":" + std::to_string(port);
    }
    return out;
}

std::string Url::text() const {
    return (secure ? "wss://" : "ws://") + authority() + target;
}

std::expected<Url, std::string> parse_url(std::string_view text) {
    const auto scheme = read_scheme(text);
    if (!scheme) {
        return Failure{scheme.error()};
    }
    Url url;
    url.secure = *scheme;
    const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
    std::string_view authority = text.substr(0, end);
    if (authority.find('@') != std::string_view::npos) {
        return Failure{"the URL has user information (name@); give credentials as headers instead"};
    }
    std::string problem = read_host(authority, url);
    if (problem.empty()) {
        problem = read_port(authority, url);
    }
    if (problem.empty()) {
        problem = read_target(text.substr(end), url);
    }
    if (!problem.empty()) {
        return Failure{std::move(problem)};
    }
    return url;
}

void add_query_parameter(Url& url, std::string_view name, std::string_view value) {
    const std::size_t query = url.target.find('?');
    if (query == std::string::npos) {
        url.target += '?';
    } else if (query + 1 != url.target.size() && url.target.back() != '&') {
        url.target += '&';
    }
    url.target += percent_encode(name) + "=" + percent_encode(value);
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~') {
            out.push_back(c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.push_back('%');
            out.push_back(digits[byte >> 4U]);
            out.push_back(digits[byte & 0xfU]);
        }
    }
    return out;
}

}  // namespace longhold::upstream
