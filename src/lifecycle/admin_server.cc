// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/lifecycle/admin_server.h>
#include <longhold/telemetry/valid_utf8.h>

#include <utility>

namespace longhold::lifecycle {
namespace {

using runtime::HttpRequest;
using runtime::HttpResponse;

// Probes must see the present: nothing on the way may keep an answer.
HttpResponse uncached(HttpResponse response) {
    response.fields.emplace_back("Cache-Control", "no-store");
    return response;
}

HttpResponse probe_response(const Verdict& verdict) {
    JsonWriter json;
    json.begin_object().key("ok").value(verdict.good).key("reasons").begin_array();
    for (const std::string& reason : verdict.reasons) {
        json.value(telemetry::to_valid_utf8(reason));
    }
    json.end_array().end_object();
    return uncached(runtime::json_response(verdict.good ? 200 : 503, json.take() + "\n"));
}

HttpResponse metrics_response(const telemetry::Metrics& metrics, const std::function<void()>& before) {
    if (before) {
        before();
    }
    HttpResponse response;
    response.fields.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics.expose();
    return uncached(std::move(response));
}

}  // namespace

AdminServer::AdminServer(runtime::Loop& loop, Health& health, telemetry::Metrics& metrics,
                         std::function<void()> before_metrics)
    : server_(loop,
              runtime::HttpTaskHandler{[this](HttpRequest request) { return router_.answer(std::move(request)); }}) {
    const auto now = [&loop] { return loop.clock().now(); };
    router_.add("GET", "/livez", [&health, now](const HttpRequest&) { return probe_response(health.livez(now())); });
    router_.add("GET", "/readyz", [&health, now](const HttpRequest&) { return probe_response(health.readyz(now())); });
    router_.add("GET", "/startupz", [&health](const HttpRequest&) { return probe_response(health.startupz()); });
    router_.add("GET", "/health", [&health, now](const HttpRequest&) {
        return uncached(runtime::json_response(200, health.document(now())));
    });
    router_.add("GET", "/metrics", [&metrics, before = std::move(before_metrics)](const HttpRequest&) {
        return metrics_response(metrics, before);
    });
}

}  // namespace longhold::lifecycle
