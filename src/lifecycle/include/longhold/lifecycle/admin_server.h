// SPDX-License-Identifier: Apache-2.0
// AdminServer: /livez, /readyz, /startupz, /health and /metrics. First to listen, last to close.
//
// Runs on a loop of its own, so that it answers whatever the loops that it reports on are doing.
// Thread-safety: none; lives on that loop.
#pragma once

#include <longhold/lifecycle/health.h>
#include <longhold/runtime/http_router.h>
#include <longhold/runtime/http_server.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/telemetry/metrics.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace longhold::lifecycle {

class AdminServer {
public:
    // `before_metrics` runs before each page of metrics, to set gauges that are read on demand; may be empty. All
    // outlive this.
    AdminServer(runtime::Loop& loop, Health& health, telemetry::Metrics& metrics, std::function<void()> before_metrics);
    // Requires that close() has returned, if listen() succeeded.
    ~AdminServer() = default;

    // Errors: a sentence that names the address and the reason.
    [[nodiscard]] std::expected<void, std::string> listen(std::string_view address) { return server_.listen(address); }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }

    [[nodiscard]] runtime::Task<> close(Instant deadline) { return server_.close(deadline); }

private:
    runtime::HttpRouter router_;
    runtime::HttpServer server_;
};

}  // namespace longhold::lifecycle
