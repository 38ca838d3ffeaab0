// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <longhold/base/invariant.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/http_server.h>
#include <longhold/runtime/listen_address.h>
#include <longhold/runtime/task_group.h>
#include <longhold/runtime/with_deadline.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>
#include <list>
#include <optional>

namespace longhold::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
using Parser = beast::http::request_parser<beast::http::string_body>;

// How long a connection that we end is read from, so that the client gets the answer rather than a reset.
constexpr Duration linger_max = std::chrono::milliseconds{500};
// How long close() waits for the first request of a client that has just connected.
constexpr Duration first_request_max = std::chrono::milliseconds{500};
constexpr Duration accept_retry = std::chrono::milliseconds{100};
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

struct Session {
    explicit Session(tcp::socket socket) : stream(std::move(socket)) {}

    beast::tcp_stream stream;
    beast::flat_buffer buffer{128 * 1024};
    std::string peer;
    bool idle = true;
    bool fresh = true;  // has not asked for anything yet
    Instant idle_since{};
};

std::string http_date(WallTime now) {
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ");
    // A line break in a value would end the head and let the value write the rest of the answer.
    std::ranges::replace_copy_if(value, std::back_inserter(out), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    out.append("\r\n");
}

std::string serialize(const HttpResponse& response, WallTime now, bool keep_alive, bool with_body) {
    std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
    out.append(reason_phrase(response.status)).append("\r\n");
    append_field(out, "Date", http_date(now));
    for (const auto& [name, value] : response.fields) {
        append_field(out, name, value);
    }
    const bool never_a_body = response.status == 204 || response.status == 304;
    if (!never_a_body) {
        append_field(out, "Content-Length", std::to_string(response.body.size()));
    }
    if (!keep_alive) {
        append_field(out, "Connection", "close");
    }
    out.append("\r\n");
    if (with_body && !never_a_body) {
        out.append(response.body);
    }
    return out;
}

HttpRequest to_request(Parser::value_type& message, const std::string& peer) {
    HttpRequest request;
    request.method = std::string{message.method_string()};
    request.target = std::string{message.target()};
    const std::size_t question = std::min(request.target.find('?'), request.target.size());
    request.path = request.target.substr(0, question);
    request.query = request.target.substr(std::min(request.target.size(), question + 1));
    for (const auto& field : message) {
        request.fields.emplace_back(std::string{field.name_string()}, std::string{field.value()});
    }
    request.body = std::move(message.body());
    request.peer = peer;
    return request;
}

// What to tell a client whose request could not be read; nothing where nobody listens any more.
std::optional<HttpResponse> refusal(const beast::error_code& error, const HttpLimits& limits) {
    using beast::http::error;
    const auto bytes = [](std::uint64_t count) { return std::to_string(count) + " bytes."; };
    if (error == error::header_limit || error == error::buffer_overflow) {
        return problem_response(431, "The request's head is larger than " + bytes(limits.head_bytes_max));
    }
    if (error == error::body_limit) {
        return problem_response(413, "The request's body is larger than " + bytes(limits.body_bytes_max));
    }
    if (error == error::end_of_stream || error == error::partial_message ||
        error.category() != make_error_code(error::bad_method).category()) {
        return std::nullopt;
    }
    return problem_response(400, "The request is no valid HTTP/1.1: " + error.message() + ".");
}

// A program that this one starts must not keep the port, or a client, after we are gone.
void keep_from_children(int descriptor) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

std::string explain(const beast::error_code& error) {
    if (error == asio::error::address_in_use) {
        return "address in use: another process listens there; stop it or choose another port";
    }
    if (error == asio::error::access_denied) {
        return "permission denied: ports below 1024 need a privilege; choose a higher one";
    }
    if (error == boost::system::errc::address_not_available) {
        return "address not available: no interface of this host has it";
    }
    return error.message();
}

}  // namespace

struct HttpServer::Impl {
    Impl(Loop& given_loop, HttpTaskHandler given_handler, HttpLimits given_limits)
        : loop(given_loop), handler(std::move(given_handler)), limits(given_limits) {}

    Instant now() const { return loop.clock().now(); }

    void start(tcp::socket socket);
    void make_room();
    void cancel_idle(bool fresh_too);
    void accept_the_rest();
    Task<> accept_clients();
    Task<> serve(std::list<Session>::iterator session);
    Task<bool> serve_one(Session& session);
    Task<bool> read_request(Session& session, Parser& parser);
    Task<bool> respond(Session& session, HttpResponse response, bool keep_alive, bool with_body);
    Task<HttpResponse> handle(HttpRequest request);

    Loop& loop;
    HttpTaskHandler handler;
    HttpLimits limits;
    tcp::acceptor acceptor{loop.context()};
    std::atomic<std::uint16_t> port{0};
    bool closing = false;
    std::list<Session> sessions;
    Event session_ended{loop};
    TaskGroup group{loop};
};

HttpServer::HttpServer(Loop& loop, HttpTaskHandler handler, HttpLimits limits)
    : impl_(std::make_unique<Impl>(loop, std::move(handler), limits)) {}

HttpServer::HttpServer(Loop& loop, HttpHandler handler, HttpLimits limits)
    : HttpServer(loop, as_task(std::move(handler)), limits) {}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
    return impl_->port.load();
}

std::size_t HttpServer::in_flight() const {
    return static_cast<std::size_t>(std::ranges::count_if(impl_->sessions, [](const Session& s) { return !s.idle; }));
}

std::expected<void, std::string> HttpServer::listen(std::string_view address) {
    const auto parsed = parse_host_port(address);
    if (!parsed) {
        return std::unexpected("cannot listen: " + parsed.error());
    }
    const auto failed = [address](const std::string& reason) {
        return std::unexpected("cannot listen on " + std::string{address} + ": " + reason);
    };
    beast::error_code error;
    const auto host = asio::ip::make_address(parsed->host == "localhost" ? "127.0.0.1" : parsed->host, error);
    if (error) {
        return failed("the host is neither a literal IP address nor localhost");
    }
    const tcp::endpoint endpoint{host, parsed->port};
    tcp::acceptor& acceptor = impl_->acceptor;
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
        keep_from_children(acceptor.native_handle());
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
        acceptor.bind(endpoint, error);
    }
    if (!error) {
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
        beast::error_code ignored;
        acceptor.close(ignored);
        return failed(explain(error));
    }
    impl_->port.store(acceptor.local_endpoint().port());
    impl_->group.spawn(impl_->accept_clients());
    return {};
}

Task<> HttpServer::close(Instant deadline) {
    Impl& impl = *impl_;
    impl.closing = true;
    impl.accept_the_rest();
    impl.cancel_idle(false);
    const Instant first_requests_until = std::min(deadline, impl.now() + first_request_max);
    while (!impl.sessions.empty() && impl.now() < first_requests_until) {
        co_await impl.session_ended.wait_until(first_requests_until);
    }
    impl.cancel_idle(true);
    while (!impl.sessions.empty() && impl.now() < deadline) {
        co_await impl.session_ended.wait_until(deadline);
    }
    impl.group.stop();
    co_await impl.group.join();
}

void HttpServer::Impl::accept_the_rest() {
    beast::error_code error;
    acceptor.non_blocking(true, error);
    while (!error && sessions.size() < limits.connections_max) {
        tcp::socket socket{loop.context()};
        acceptor.accept(socket, error);
        if (!error) {
            start(std::move(socket));
        }
    }
    acceptor.close(error);
}

void HttpServer::Impl::start(tcp::socket socket) {
    beast::error_code error;
    const auto peer = socket.remote_endpoint(error);
    keep_from_children(socket.native_handle());
    const auto session = sessions.emplace(sessions.end(), std::move(socket));
    session->peer = error ? "unknown" : peer.address().to_string() + ":" + std::to_string(peer.port());
    session->idle_since = now();
    group.spawn(serve(session));
}

void HttpServer::Impl::make_room() {
    Session* oldest = nullptr;
    for (Session& session : sessions) {
        if (session.idle && (oldest == nullptr || session.idle_since < oldest->idle_since)) {
            oldest = &session;
        }
    }
    if (oldest != nullptr) {
        oldest->stream.cancel();
    }
}

void HttpServer::Impl::cancel_idle(bool fresh_too) {
    for (Session& session : sessions) {
        if (session.idle && (fresh_too || !session.fresh)) {
            session.stream.cancel();
        }
    }
}

Task<> HttpServer::Impl::accept_clients() {
    while (!closing) {
        if (sessions.size() >= limits.connections_max) {
            make_room();
            co_await session_ended.wait_until(now() + accept_retry);
            continue;
        }
        auto [error, socket] = co_await acceptor.async_accept(as_result);
        if (!error) {
            start(std::move(socket));
        } else if (!closing) {
            // Out of descriptors, or the client has gone already.
            co_await sleep_until(loop, now() + accept_retry);
        }
    }
}

Task<> HttpServer::Impl::serve(std::list<Session>::iterator session) {
    struct Leave {
        Impl& impl;
        std::list<Session>::iterator session;

        ~Leave() {
            impl.sessions.erase(session);
            impl.session_ended.notify();
        }
    } const leave{*this, session};

    bool go = true;
    while (go) {
        go = co_await serve_one(*session);
    }
    beast::error_code ignored;
    session->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    session->stream.expires_after(linger_max);
    beast::error_code error;
    while (!error) {
        session->buffer.clear();
        auto [failure, got] = co_await session->stream.async_read_some(session->buffer.prepare(4096), as_result);
        error = failure;
    }
}

Task<bool> HttpServer::Impl::serve_one(Session& session) {
    if (session.buffer.size() == 0) {
        session.idle = true;
        session.idle_since = now();
        session.stream.expires_after(limits.idle_max);
        auto [error, got] = co_await session.stream.async_read_some(session.buffer.prepare(4096), as_result);
        session.idle = false;
        if (error) {
            co_return false;
        }
        session.buffer.commit(got);
    }
    session.fresh = false;
    Parser parser;
    const bool readable = co_await read_request(session, parser);
    if (!readable) {
        co_return false;
    }
    const bool is_head = parser.get().method() == beast::http::verb::head;
    const bool client_keeps = parser.get().keep_alive();
    auto response = co_await handle(to_request(parser.get(), session.peer));
    const bool keep = client_keeps && !closing && sessions.size() < limits.connections_max;
    co_return co_await respond(session, std::move(response), keep, !is_head);
}

// Whether a whole request is in `parser`; otherwise the client was told why, if it listens.
Task<bool> HttpServer::Impl::read_request(Session& session, Parser& parser) {
    parser.header_limit(limits.head_bytes_max);
    parser.body_limit(limits.body_bytes_max);
    session.stream.expires_after(limits.transfer_max);
    auto [error, ignored_1] =
        co_await beast::http::async_read_header(session.stream, session.buffer, parser, as_result);
    if (!error && !parser.is_done() && beast::iequals(parser.get()[beast::http::field::expect], "100-continue")) {
        auto [failure, ignored_2] = co_await asio::async_write(session.stream, asio::buffer(go_on), as_result);
        error = failure;
    }
    if (!error && !parser.is_done()) {
        auto [failure, ignored_3] = co_await beast::http::async_read(session.stream, session.buffer, parser, as_result);
        error = failure;
    }
    if (!error) {
        co_return true;
    }
    auto refused = refusal(error, limits);
    if (refused) {
        co_await respond(session, std::move(*refused), false, true);
    }
    co_return false;
}

// Whether the connection may be used again.
Task<bool> HttpServer::Impl::respond(Session& session, HttpResponse response, bool keep_alive, bool with_body) {
    const std::string text = serialize(response, loop.clock().wall_now(), keep_alive, with_body);
    session.stream.expires_after(limits.transfer_max);
    auto [error, sent] = co_await asio::async_write(session.stream, asio::buffer(text), as_result);
    co_return keep_alive && !error;
}

Task<HttpResponse> HttpServer::Impl::handle(HttpRequest request) {
    bool thrown = false;
    try {
        auto answer = co_await with_deadline(loop, now() + limits.handler_max, handler(std::move(request)));
        co_return answer ? std::move(*answer) : problem_response(504, "The answer was not ready in time; try again.");
    } catch (const std::exception&) {
        thrown = true;
    }
    // Either the server is being stopped, and then this ends here, or a handler broke its word.
    const auto state = co_await asio::this_coro::cancellation_state;
    if (thrown && state.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_return problem_response(500, "The request could not be handled; this is a defect.");
}

}  // namespace longhold::runtime
