// SPDX-License-Identifier: Apache-2.0
// HttpServer: a small HTTP/1.1 server on one loop, bounded in every direction.
//
// Keep-alive, HEAD and Expect: 100-continue; no TLS, no chunked answers. A request that breaks a limit or the protocol
// gets a problem document and its connection is closed. When all connections are taken, the one that has been idle the
// longest makes room; if none is idle, new clients wait in the kernel's accept queue.
//
// Thread-safety: none; every member is called on the loop's thread (or before it runs), except port().
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/http_router.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace longhold::runtime {

struct HttpLimits {
    std::uint32_t head_bytes_max = 16 * 1024;
    std::uint64_t body_bytes_max = 64 * 1024;
    std::size_t connections_max = 256;
    // From a request's first byte to its last; from an answer's first byte to its last.
    Duration transfer_max = std::chrono::seconds{10};
    // A handler that takes longer is cancelled, and the client gets 504.
    Duration handler_max = std::chrono::seconds{10};
    // How long a connection may wait for a request's first byte; longer than the usual idle time of a balancer.
    Duration idle_max = std::chrono::seconds{75};
};

class HttpServer {
public:
    HttpServer(Loop& loop, HttpTaskHandler handler, HttpLimits limits = {});
    HttpServer(Loop& loop, HttpHandler handler, HttpLimits limits = {});
    // Requires that close() has returned, if listen() succeeded.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Binds and starts to serve. `address` is "host:port" or "[ipv6]:port", the host a literal address or "localhost";
    // port 0 takes any free one. At most once. Errors: a sentence that names the address and the reason.
    [[nodiscard]] std::expected<void, std::string> listen(std::string_view address);

    // The port bound by listen(). From any thread once listen() has returned.
    [[nodiscard]] std::uint16_t port() const;

    // Serves what the kernel has accepted already, stops listening, closes idle connections, lets requests in flight
    // end until `deadline`, and cancels the rest. Returns when nothing runs any more, shortly after `deadline` at the
    // latest.
    [[nodiscard]] Task<> close(Instant deadline);

    // Requests being read, handled or answered right now.
    [[nodiscard]] std::size_t in_flight() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::runtime
