// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/http_client.h>
#include <longhold/runtime/listen_address.h>
#include <longhold/runtime/with_deadline.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

namespace longhold::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using Result = std::expected<HttpResponse, HttpError>;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

struct Target {
    std::string authority;  // as in the URL, for the Host field
    HostPort address;
    std::string path;
};

bool is_clean(std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; });
}

std::expected<Target, std::string> parse_url(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme)) {
        return std::unexpected("it must start with http://");
    }
    if (!is_clean(url) || url.find(' ') != std::string_view::npos) {
        return std::unexpected("it holds a space or a control character");
    }
    url.remove_prefix(scheme.size());
    url = url.substr(0, url.find('#'));
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    Target target;
    target.authority = std::string{url.substr(0, end)};
    if (target.authority.find('@') != std::string::npos) {
        return std::unexpected("it must not hold a user name");
    }
    const std::size_t bracket = target.authority.rfind(']');
    const std::size_t colon = target.authority.rfind(':');
    const bool has_port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
    auto address = parse_host_port(has_port ? target.authority : target.authority + ":80");
    if (!address) {
        return std::unexpected(address.error());
    }
    target.address = std::move(*address);
    target.path = std::string{url.substr(end)};
    if (!target.path.starts_with('/')) {
        target.path.insert(0, "/");
    }
    return target;
}

std::expected<std::string, std::string> serialize(const HttpCall& call, const Target& target) {
    std::string out = call.method + " " + target.path + " HTTP/1.1\r\nHost: " + target.authority + "\r\n";
    if (call.method.empty() || !is_clean(call.method) || call.method.find(' ') != std::string::npos) {
        return std::unexpected("the method is no word");
    }
    for (const auto& [name, value] : call.fields) {
        if (name.empty() || !is_clean(name) || !is_clean(value)) {
            return std::unexpected("the field \"" + name + "\" holds a control character");
        }
        out += name + ": " + value + "\r\n";
    }
    if (!call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH") {
        out += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
    }
    return out + "Connection: close\r\n\r\n" + call.body;
}

// How far a call has come, so that one that is cut short is named rightly.
struct Progress {
    bool sending = false;
};

std::unexpected<HttpError> failure(HttpErrc code, const HttpCall& call, const std::string& reason) {
    return std::unexpected(HttpError{code, call.method + " " + call.url + ": " + reason});
}

Task<std::expected<tcp::socket, std::string>> connect(Loop& loop, HostPort address) {
    boost::system::error_code no_literal;
    if (const auto literal = asio::ip::make_address(address.host, no_literal); !no_literal) {
        // Without the resolver, whose one thread may hang on another name.
        tcp::socket socket{loop.context()};
        auto [failure] = co_await socket.async_connect(tcp::endpoint{literal, address.port}, as_result);
        if (failure) {
            co_return std::unexpected("cannot connect: " + failure.message());
        }
        co_return socket;
    }
    tcp::resolver resolver{loop.context()};
    auto [resolve_error, endpoints] =
        co_await resolver.async_resolve(address.host, std::to_string(address.port), as_result);
    if (resolve_error) {
        co_return std::unexpected("cannot find the host: " + resolve_error.message());
    }
    tcp::socket socket{loop.context()};
    auto [connect_error, endpoint] = co_await asio::async_connect(socket, endpoints, as_result);
    if (connect_error) {
        co_return std::unexpected("cannot connect: " + connect_error.message());
    }
    co_return socket;
}

Task<Result> exchange(Loop& loop, HttpCall call, Progress& progress) {
    auto target = parse_url(call.url);
    if (!target) {
        co_return failure(HttpErrc::invalid_call, call, target.error());
    }
    auto text = serialize(call, *target);
    if (!text) {
        co_return failure(HttpErrc::invalid_call, call, text.error());
    }
    auto socket = co_await connect(loop, target->address);
    if (!socket) {
        co_return failure(HttpErrc::unreachable, call, socket.error());
    }
    progress.sending = true;
    // A server may refuse and answer before it has read everything: what it says counts more than a failed write.
    auto [write_error, sent] = co_await asio::async_write(*socket, asio::buffer(*text), as_result);
    if (write_error && sent == 0) {
        co_return failure(HttpErrc::unreachable, call, "cannot send: " + write_error.message());
    }
    beast::http::response_parser<beast::http::string_body> parser;
    parser.body_limit(call.response_bytes_max);
    parser.header_limit(64 * 1024);
    parser.skip(call.method == "HEAD");
    beast::flat_buffer buffer;
    auto [read_error, got] = co_await beast::http::async_read(*socket, buffer, parser, as_result);
    if (read_error == beast::http::error::body_limit) {
        co_return failure(HttpErrc::bad_answer, call,
                          "the answer is larger than " + std::to_string(call.response_bytes_max) + " bytes");
    }
    const auto& http_category = make_error_code(beast::http::error::bad_method).category();
    const bool cut_short =
        read_error == beast::http::error::end_of_stream || read_error == beast::http::error::partial_message;
    if (read_error && read_error.category() == http_category && !cut_short) {
        co_return failure(HttpErrc::bad_answer, call, "the answer is no HTTP/1.1: " + read_error.message());
    }
    if (read_error) {
        co_return failure(HttpErrc::unknown_outcome, call, "the answer did not come: " + read_error.message());
    }
    HttpResponse response;
    response.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get()) {
        response.fields.emplace_back(std::string{field.name_string()}, std::string{field.value()});
    }
    response.body = std::move(parser.get().body());
    co_return response;
}

}  // namespace

Task<Result> http_request(Loop& loop, HttpCall call, Instant deadline) {
    Progress progress;
    const HttpCall named{call.method, call.url, {}, {}, 0};
    auto outcome = co_await with_deadline(loop, deadline, exchange(loop, std::move(call), progress));
    if (outcome) {
        co_return std::move(*outcome);
    }
    co_return failure(progress.sending ? HttpErrc::unknown_outcome : HttpErrc::unreachable, named, "no answer in time");
}

}  // namespace longhold::runtime
