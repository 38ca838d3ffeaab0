// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/http_client.h>
#include <longhold/runtime/http_server.h>
#include <longhold/runtime/task_group.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <stdexcept>

#include "loop_runner.h"

namespace longhold::runtime {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

HttpResponse echo(const HttpRequest& request) {
    return text_response(200, request.method + " " + request.path + "?" + request.query + " " + request.body);
}

Task<HttpResponse> never(Loop& loop) {
    co_await sleep_until(loop, loop.clock().now() + 1h);
    co_return text_response(200, "late");
}

Task<HttpResponse> slow(Loop& loop) {
    co_await sleep_until(loop, loop.clock().now() + 50ms);
    co_return text_response(200, "slow");
}

// A server with one route for each behaviour, for the time of one test task.
struct Server {
    explicit Server(Loop& given, HttpLimits limits = {}) : loop(given), server(given, handler(), limits) {
        const auto bound = server.listen("127.0.0.1:0");
        EXPECT_TRUE(bound.has_value()) << bound.error();
    }

    HttpTaskHandler handler() {
        router.add("GET", "/echo", echo);
        router.add("POST", "/echo", echo);
        router.add("GET", "/items/{id}/x",
                   [](const HttpRequest& r) { return text_response(200, r.path_values.at("id")); });
        router.add("GET", "/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("broken"); });
        router.add("GET", "/split", [](const HttpRequest&) {
            return HttpResponse{200, {{"Location", "/a\r\nSet-Cookie: stolen"}}, ""};
        });
        router.add("GET", "/large", [](const HttpRequest&) { return text_response(200, std::string(100'000, 'x')); });
        router.add_task("GET", "/never", [this](HttpRequest) { return never(loop); });
        router.add_task("GET", "/slow", [this](HttpRequest) { return slow(loop); });
        return [this](HttpRequest request) { return router.answer(std::move(request)); };
    }

    [[nodiscard]] std::string url(std::string_view path) const {
        return "http://127.0.0.1:" + std::to_string(server.port()) + std::string{path};
    }

    Loop& loop;
    HttpRouter router;
    HttpServer server;
};

Task<std::expected<HttpResponse, HttpError>> get(Server& server, std::string path, std::string method = "GET") {
    HttpCall call;
    call.method = std::move(method);
    call.url = server.url(path);
    auto outcome = co_await http_request(server.loop, std::move(call), server.loop.clock().now() + 20s);
    co_return outcome;
}

Task<tcp::socket> dial(Server& server) {
    tcp::socket socket{server.loop.context()};
    const tcp::endpoint target{boost::asio::ip::address_v4::loopback(), server.server.port()};
    auto [error] = co_await socket.async_connect(target, as_result);
    EXPECT_FALSE(error) << error.message();
    co_return socket;
}

// Sends `text` as it is, and reads until the server ends the connection.
Task<std::string> raw(Server& server, std::string text) {
    tcp::socket socket = co_await dial(server);
    co_await boost::asio::async_write(socket, boost::asio::buffer(text), as_result);
    std::string got;
    co_await boost::asio::async_read(socket, boost::asio::dynamic_buffer(got), as_result);
    co_return got;
}

Task<> answers(Loop& loop) {
    Server server{loop};
    auto hello = co_await get(server, "/echo?a=1");
    EXPECT_TRUE(hello.has_value() && hello->status == 200 && hello->body == "GET /echo?a=1 ");
    auto item = co_await get(server, "/items/a%2Fb/x");
    EXPECT_TRUE(item.has_value() && item->body == "a/b");
    auto head = co_await get(server, "/echo", "HEAD");
    EXPECT_TRUE(head.has_value() && head->body.empty() && find_field(head->fields, "content-length") == "12");
    auto missing = co_await get(server, "/nothing");
    EXPECT_TRUE(missing.has_value() && missing->status == 404);
    EXPECT_EQ(find_field(missing->fields, "content-type"), "application/problem+json");
    EXPECT_THAT(missing->body,
                HasSubstr(R"("title":"Not Found","status":404,"detail":"Nothing is served at /nothing.")"));
    auto wrong = co_await get(server, "/echo", "DELETE");
    EXPECT_TRUE(wrong.has_value() && wrong->status == 405);
    EXPECT_EQ(find_field(wrong->fields, "allow"), "GET, HEAD, POST");
    auto escape = co_await get(server, "/items/%zz/x");
    EXPECT_TRUE(escape.has_value() && escape->status == 400);
    auto thrown = co_await get(server, "/throws");
    EXPECT_TRUE(thrown.has_value() && thrown->status == 500);
    auto split = co_await get(server, "/split");
    EXPECT_TRUE(split.has_value() && !find_field(split->fields, "set-cookie"));
    co_await server.server.close(loop.clock().now() + 5s);
}

TEST(HttpServer, AnswersByMethodAndPath) {
    LoopRunner runner;
    runner.run(answers(runner.loop));
}

Task<> limits(Loop& loop) {
    Server server{loop, {.transfer_max = 300ms, .handler_max = 50ms}};
    const std::string head_too_large = co_await raw(server, "GET /echo HTTP/1.1\r\nx: " + std::string(17'000, 'x'));
    EXPECT_THAT(head_too_large, StartsWith("HTTP/1.1 431 "));
    const std::string body_too_large =
        co_await raw(server, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n");
    EXPECT_THAT(body_too_large, StartsWith("HTTP/1.1 413 "));
    const std::string no_http = co_await raw(server, "\x16\x03\x01 hello\r\n\r\n");
    EXPECT_THAT(no_http, StartsWith("HTTP/1.1 400 "));
    const std::string two_lengths = co_await raw(
        server, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_THAT(two_lengths, StartsWith("HTTP/1.1 400 "));
    const Instant before = loop.clock().now();
    const std::string never_ends = co_await raw(server, "GET /echo HTTP/1.1\r\nx: ");
    EXPECT_EQ(never_ends, "");
    EXPECT_GE(loop.clock().now() - before, 250ms) << "a slow client gets its time";
    const std::string late = co_await raw(server, "GET /never HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(late, StartsWith("HTTP/1.1 504 "));
    co_await server.server.close(loop.clock().now() + 5s);
}

TEST(HttpServer, HoldsItsLimitsAndSaysWhich) {
    LoopRunner runner;
    runner.run(limits(runner.loop));
}

Task<> keeps_alive(Loop& loop) {
    Server server{loop};
    const std::string both =
        co_await raw(server,
                     "GET /echo?1 HTTP/1.1\r\nHost: a\r\n\r\n"
                     "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
                     "Connection: close\r\n\r\nhi");
    EXPECT_THAT(both, HasSubstr("GET /echo?1 "));
    EXPECT_THAT(both, HasSubstr("POST /echo? hi"));
    const auto first_end = both.find("POST");
    EXPECT_THAT(both.substr(0, first_end), HasSubstr("Connection: close"));
    EXPECT_THAT(both.substr(0, both.find("GET /echo")), Not(HasSubstr("Connection: close")));
    const std::string old_client = co_await raw(server, "GET /echo HTTP/1.0\r\n\r\n");
    EXPECT_THAT(old_client, HasSubstr("Connection: close"));
    co_await server.server.close(loop.clock().now() + 5s);
}

TEST(HttpServer, KeepsConnectionsAliveAsTheClientAsks) {
    LoopRunner runner;
    runner.run(keeps_alive(runner.loop));
}

Task<> makes_room(Loop& loop) {
    Server server{loop, {.connections_max = 2}};
    tcp::socket idle_1 = co_await dial(server);
    tcp::socket idle_2 = co_await dial(server);
    auto served = co_await get(server, "/echo");
    EXPECT_TRUE(served.has_value()) << served.error().detail;
    co_await server.server.close(loop.clock().now() + 5s);
}

TEST(HttpServer, MakesRoomForANewClientByEndingAnIdleOne) {
    LoopRunner runner;
    runner.run(makes_room(runner.loop));
}

Task<> ask_slow(Server& server, std::string& answer) {
    answer = co_await raw(server, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
}

Task<> ask_never(Server& server, std::string& answer) {
    answer = co_await raw(server, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
}

Task<> closes(Loop& loop) {
    Server server{loop, {.handler_max = 1h}};
    TaskGroup clients{loop};
    std::string slow_answer;
    std::string never_answer = "untouched";
    clients.spawn(ask_slow(server, slow_answer));
    clients.spawn(ask_never(server, never_answer));
    tcp::socket idle = co_await dial(server);
    tcp::socket fresh = co_await dial(server);
    const Instant patience = loop.clock().now() + 10s;
    while (server.server.in_flight() < 2 && loop.clock().now() < patience) {
        co_await yield(loop);
    }
    const Instant deadline = loop.clock().now() + 300ms;
    const std::string late_request = "GET /echo?fresh HTTP/1.1\r\nHost: a\r\n\r\n";
    co_await boost::asio::async_write(fresh, boost::asio::buffer(late_request), as_result);
    co_await server.server.close(deadline);
    EXPECT_GE(loop.clock().now(), deadline) << "a request in flight gets its time";
    EXPECT_LT(loop.clock().now(), deadline + 2s);
    co_await clients.join();
    EXPECT_THAT(slow_answer, HasSubstr("slow"));
    EXPECT_THAT(slow_answer, HasSubstr("Connection: close"));
    EXPECT_EQ(never_answer, "");
    std::string got;
    co_await boost::asio::async_read(fresh, boost::asio::dynamic_buffer(got), as_result);
    EXPECT_THAT(got, HasSubstr("GET /echo?fresh")) << "a client that had connected is served";
    auto refused = co_await get(server, "/echo");
    EXPECT_TRUE(!refused.has_value() && refused.error().code == HttpErrc::unreachable);
}

TEST(HttpServer, CloseServesWhatHasArrivedAndCutsTheRestAtTheDeadline) {
    LoopRunner runner;
    runner.run(closes(runner.loop));
}

Task<> bind_twice(Loop& loop) {
    Server server{loop};
    HttpServer second{loop, HttpHandler{echo}};
    const std::string address = "127.0.0.1:" + std::to_string(server.server.port());
    const auto refused = second.listen(address);
    EXPECT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error(), StartsWith("cannot listen on " + address + ": address in use"));
    EXPECT_THAT(second.listen("example.org:80").error(), HasSubstr("neither a literal IP address nor localhost"));
    EXPECT_THAT(second.listen("192.0.2.1:0").error(), HasSubstr("address not available"));
    co_await server.server.close(loop.clock().now() + 5s);
}

TEST(HttpServer, NamesTheAddressAndTheReasonWhenItCannotBind) {
    LoopRunner runner;
    runner.run(bind_twice(runner.loop));
}

Task<HttpErrc> error_of(Loop& loop, HttpCall call, Duration within = 20s) {
    const std::string url = call.url;
    auto outcome = co_await http_request(loop, std::move(call), loop.clock().now() + within);
    EXPECT_FALSE(outcome.has_value());
    EXPECT_THAT(outcome.error().detail, HasSubstr(url));
    co_return outcome.error().code;
}

Task<> client_errors(Loop& loop) {
    Server server{loop};
    for (const char* url : {"https://a/", "http://", "http://a b/", "http://u@a/", "http://a:x/", "ftp", ""}) {
        const HttpErrc code = co_await error_of(loop, HttpCall{.url = url});
        EXPECT_EQ(code, HttpErrc::invalid_call) << url;
    }
    const HttpErrc injected = co_await error_of(loop, HttpCall{.url = server.url("/"), .fields = {{"a", "b\r\nc: d"}}});
    EXPECT_EQ(injected, HttpErrc::invalid_call);
    const HttpErrc nobody = co_await error_of(loop, HttpCall{.url = "http://127.0.0.1:1/"});
    EXPECT_EQ(nobody, HttpErrc::unreachable);
    const HttpErrc too_large =
        co_await error_of(loop, HttpCall{.url = server.url("/large"), .response_bytes_max = 1000});
    EXPECT_EQ(too_large, HttpErrc::bad_answer);
    const HttpErrc late = co_await error_of(loop, HttpCall{.url = server.url("/never")}, 100ms);
    EXPECT_EQ(late, HttpErrc::unknown_outcome);
    auto fits = co_await get(server, "/large");
    EXPECT_TRUE(fits.has_value() && fits->body.size() == 100'000);
    auto posted = co_await http_request(loop, HttpCall{.method = "POST", .url = server.url("/echo"), .body = "hello"},
                                        loop.clock().now() + 20s);
    EXPECT_TRUE(posted.has_value() && posted->body == "POST /echo? hello");
    co_await server.server.close(loop.clock().now() + 100ms);
}

TEST(HttpRequest, SortsErrorsByWhatTheCallerMayDo) {
    LoopRunner runner;
    runner.run(client_errors(runner.loop));
}

TEST(HttpRequestValue, DecodesQueriesAndRefusesBrokenEscapes) {
    HttpRequest request;
    request.query = "a=1&b=x+y%21&c&a=2&d=%4";
    EXPECT_EQ(request.query_value("a"), "1");
    EXPECT_EQ(request.query_value("b"), "x y!");
    EXPECT_EQ(request.query_value("c"), "");
    EXPECT_EQ(request.query_value("d"), std::nullopt);
    EXPECT_EQ(request.query_value("e"), std::nullopt);
    EXPECT_EQ(percent_decode("a%2"), std::nullopt);
    EXPECT_EQ(percent_decode("%41%"), std::nullopt);
}

}  // namespace
}  // namespace longhold::runtime
