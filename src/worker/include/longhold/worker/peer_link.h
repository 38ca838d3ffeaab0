// SPDX-License-Identifier: Apache-2.0
// PeerLink: hints from worker to worker over HTTP, signed with a shared key (rule 12).
//
//   POST /peer/v1/hints   Longhold-Signature: sha256=<HMAC of the body>
//   204 taken · 400 no hint · 401 not signed by a key of ours · 409 for another session
//
// Best effort in both directions: nothing is sent again, and what is too much is dropped and counted. Where there is no
// key there is no listener, no address, and nothing is sent.
//
// Thread-safety: none; lives on the control loop's thread.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/runtime/http_router.h>
#include <longhold/runtime/http_server.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task_group.h>
#include <longhold/telemetry/metrics.h>

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::worker {

class PeerLink {
public:
    // Takes a hint that was meant for the session and signed.
    using Take = std::function<void(core::Hint hint)>;

    // `keys`: the first signs, all are accepted; none: no hints.
    PeerLink(runtime::Loop& loop, std::vector<std::string> keys, telemetry::Metrics& metrics);
    // Requires that close() has returned, if listen() succeeded.
    ~PeerLink() = default;
    PeerLink(const PeerLink&) = delete;
    PeerLink& operator=(const PeerLink&) = delete;

    // Opens the listener, where there is a key. Errors: a sentence that names the address and the reason.
    [[nodiscard]] std::expected<void, std::string> listen(const std::string& address);

    // What the session row says: `advertise`, or as it listens; empty without a listener.
    [[nodiscard]] std::string address(const std::string& advertise) const;

    // From now on hints for `session()` are given to `take`.
    void begin(std::function<SessionId()> session, Take take);
    // Sends a hint, without waiting.
    void tell(const SessionId& from, core::TellPeer what);

    // Takes and sends nothing more. Returns when nothing runs any more.
    [[nodiscard]] runtime::Task<> close(Instant deadline);

private:
    [[nodiscard]] runtime::HttpResponse answer(const runtime::HttpRequest& request);
    [[nodiscard]] runtime::Task<> send(core::TellPeer what, std::string body);
    void count(std::string_view direction, core::HintKind kind, std::string_view result);

    runtime::Loop& loop_;
    std::vector<std::string> keys_;
    telemetry::Metrics& metrics_;
    runtime::HttpRouter router_;
    runtime::HttpServer server_;
    runtime::TaskGroup sends_;
    std::string listens_on_;
    std::function<SessionId()> session_;
    Take take_;
};

}  // namespace longhold::worker
