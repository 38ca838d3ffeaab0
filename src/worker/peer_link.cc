// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/http_client.h>
#include <longhold/worker/peer_link.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "hint_wire.h"

namespace longhold::worker {
namespace {

// A hint that has not arrived by then has been overtaken by the polls.
constexpr Duration send_within = std::chrono::seconds{1};

// On their way at a time; more are dropped.
constexpr std::size_t sends_max = 64;

constexpr std::string_view path = "/peer/v1/hints";

runtime::HttpLimits limits() {
    return {.body_bytes_max = 32UL * 1024,
            .connections_max = 64,
            .transfer_max = send_within,
            .handler_max = send_within,
            .idle_max = send_within};
}

// "10.0.0.7:8472" or "[fd00::7]:8472".
bool is_literal(const std::string& address) {
    const auto colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    boost::system::error_code failure;
    static_cast<void>(boost::asio::ip::make_address(host, failure));
    return colon != std::string::npos && !failure;
}

}  // namespace

PeerLink::PeerLink(runtime::Loop& loop, std::vector<std::string> keys, telemetry::Metrics& metrics)
    : loop_(loop),
      keys_(std::move(keys)),
      metrics_(metrics),
      server_(loop, runtime::HttpTaskHandler{[this](runtime::HttpRequest request) {
                  return router_.answer(std::move(request));
              }},
              limits()),
      sends_(loop) {
    router_.add("POST", path, [this](const runtime::HttpRequest& request) { return answer(request); });
}

std::expected<void, std::string> PeerLink::listen(const std::string& address) {
    if (keys_.empty()) {
        return {};
    }
    auto listening = server_.listen(address);
    if (listening) {
        listens_on_ = address.substr(0, address.rfind(':')) + ":" + std::to_string(server_.port());
    }
    return listening;
}

std::string PeerLink::address(const std::string& advertise) const {
    return listens_on_.empty() || advertise.empty() ? listens_on_ : advertise;
}

void PeerLink::begin(std::function<SessionId()> session, Take take) {
    session_ = std::move(session);
    take_ = std::move(take);
}

runtime::HttpResponse PeerLink::answer(const runtime::HttpRequest& request) {
    const auto signature = runtime::find_field(request.fields, signature_field);
    if (!signature || !signed_by_any(request.body, *signature, keys_)) {
        metrics_.counter("longhold_hints_refused_total", {{"reason", "signature"}}).add();
        return runtime::problem_response(401, "the hint is not signed with a key of peer.keys");
    }
    auto message = decode(request.body);
    if (!message) {
        metrics_.counter("longhold_hints_refused_total", {{"reason", "form"}}).add();
        return runtime::problem_response(400, message.error());
    }
    if (!take_ || message->to != session_()) {
        count("received", message->hint.kind, "other_session");
        return runtime::problem_response(409, "the hint is for another session");
    }
    count("received", message->hint.kind, "taken");
    // Not within the answer: what comes of it may take its time.
    loop_.post([this, hint = std::move(message->hint)]() mutable {
        if (take_) {
            take_(std::move(hint));
        }
    });
    return {.status = 204};
}

void PeerLink::tell(const SessionId& from, core::TellPeer what) {
    if (keys_.empty() || what.address.empty()) {
        return;
    }
    if (!is_literal(what.address)) {
        count("sent", what.hint.kind, "failed");  // a name's look-up could hang, and with it the end of this process
        return;
    }
    if (sends_.live() >= sends_max) {
        count("sent", what.hint.kind, "dropped");
        return;
    }
    auto body = encode({.from = from, .to = what.peer, .hint = what.hint});
    sends_.spawn(send(std::move(what), std::move(body)));
}

runtime::Task<> PeerLink::send(core::TellPeer what, std::string body) {
    auto signature = signature_of(body, keys_.front());
    runtime::HttpCall call{
        .method = "POST",
        .url = "http://" + what.address + std::string{path},
        .fields = {{std::string{signature_field}, std::move(signature)}, {"Content-Type", "text/plain; charset=utf-8"}},
        .body = std::move(body)};
    const auto answer = co_await runtime::http_request(loop_, std::move(call), loop_.clock().now() + send_within);
    count("sent", what.hint.kind, !answer ? "failed" : answer->status == 204 ? "taken" : "refused");
}

runtime::Task<> PeerLink::close(Instant deadline) {
    take_ = nullptr;
    sends_.stop();
    co_await sends_.join();
    if (!listens_on_.empty()) {
        co_await server_.close(deadline);
    }
}

void PeerLink::count(std::string_view direction, core::HintKind kind, std::string_view result) {
    metrics_
        .counter("longhold_hints_total", {{"direction", std::string{direction}},
                                          {"kind", std::string{core::text(kind)}},
                                          {"result", std::string{result}}})
        .add();
}

}  // namespace longhold::worker
