// SPDX-License-Identifier: Apache-2.0
// The two transports over a connected socket.
#pragma once

#include <longhold/upstream/tls.h>
#include <longhold/upstream/transport.h>
#include <longhold/upstream/url.h>

#include <expected>
#include <memory>
#include <string>

#include "socket.h"

namespace longhold::upstream {

[[nodiscard]] std::unique_ptr<Transport> plain_transport(std::unique_ptr<Socket> socket);

// A transport whose handshake is still to be made.
class TlsTransport : public Transport {
public:
    // Goes on with the handshake: done, would_block (then the listener is told when to call again), or failed.
    [[nodiscard]] virtual IoStatus handshake_now() = 0;
    // What the handshake agreed on, for people. Requires that it is done.
    [[nodiscard]] virtual std::string description() const = 0;
};

// Errors: a sentence for people.
[[nodiscard]] std::expected<std::unique_ptr<TlsTransport>, std::string> tls_transport(
    std::unique_ptr<Socket> socket, std::shared_ptr<TlsContext> context, const Url& url, const TlsOptions& options);

}  // namespace longhold::upstream
