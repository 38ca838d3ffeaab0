// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/lifecycle/admin_server.h>
#include <longhold/runtime/http_client.h>

#include "loop_runner.h"

namespace longhold::lifecycle {
namespace {

using namespace std::chrono_literals;
using runtime::HttpCall;
using runtime::HttpResponse;
using runtime::Loop;
using runtime::Task;
using testing::HasSubstr;

Task<HttpResponse> get(Loop& loop, const AdminServer& server, std::string path, std::string method = "GET") {
    HttpCall call;
    call.method = std::move(method);
    call.url = "http://127.0.0.1:" + std::to_string(server.port()) + path;
    auto answer = co_await runtime::http_request(loop, std::move(call), loop.clock().now() + 20s);
    EXPECT_TRUE(answer.has_value()) << answer.error().detail;
    co_return answer.value_or(HttpResponse{.status = 0});
}

Task<> follow_a_process(Loop& loop, Health& health, telemetry::Metrics& metrics) {
    AdminServer server{loop, health, metrics, [&metrics] { metrics.gauge("longhold_held").set(7); }};
    const auto bound = server.listen("127.0.0.1:0");
    EXPECT_TRUE(bound.has_value()) << bound.error();

    auto live = co_await get(loop, server, "/livez");
    EXPECT_EQ(live.status, 200) << "from the moment of the bind";
    auto starting = co_await get(loop, server, "/startupz");
    EXPECT_EQ(starting.status, 503);
    EXPECT_EQ(starting.body, "{\"ok\":false,\"reasons\":[\"the start is not finished\"]}\n");
    health.enter(ProcessState::ready);
    auto ready = co_await get(loop, server, "/readyz");
    EXPECT_EQ(ready.status, 200);
    EXPECT_EQ(ready.body, "{\"ok\":true,\"reasons\":[]}\n");
    EXPECT_EQ(runtime::find_field(ready.fields, "cache-control"), "no-store");
    health.enter(ProcessState::draining);
    auto draining = co_await get(loop, server, "/readyz");
    EXPECT_EQ(draining.status, 503);
    EXPECT_THAT(draining.body, HasSubstr("the process is draining"));
    auto document = co_await get(loop, server, "/health");
    EXPECT_EQ(document.status, 200);
    EXPECT_THAT(document.body, HasSubstr("\"state\": \"draining\""));
    auto page = co_await get(loop, server, "/metrics");
    EXPECT_THAT(page.body, HasSubstr("\nlonghold_held 7\n"));
    EXPECT_EQ(runtime::find_field(page.fields, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
    auto written = co_await get(loop, server, "/health", "POST");
    EXPECT_EQ(written.status, 405);
    auto missing = co_await get(loop, server, "/");
    EXPECT_EQ(missing.status, 404);
    co_await server.close(loop.clock().now() + 5s);
}

TEST(AdminServer, FollowsAProcessFromBindToDrain) {
    LoopRunner runner;
    Random random{1};
    Health health{HealthSettings{.version = "0.1.0"}, {}, random};
    health.watch_loop("admin", runner.loop);
    telemetry::Metrics metrics;
    runner.run(follow_a_process(runner.loop, health, metrics));
}

}  // namespace
}  // namespace longhold::lifecycle
