// SPDX-License-Identifier: Apache-2.0
// From a URL to a connected transport: resolve, connect to one address after another, make the TLS handshake.
#pragma once

#include <longhold/runtime/task.h>
#include <longhold/upstream/connection.h>
#include <longhold/upstream/transport.h>

#include <expected>
#include <memory>
#include <string>

#include "waker.h"

namespace longhold::upstream {

struct DialError {
    EndReason reason;
    std::string detail;
};

// Who dials: woken by sockets through `listener`, which wakes `waker`; `receiver` is told of stages; `given_up` turns
// true when the result is not wanted any more. All outlive the dial.
struct Dialler {
    const LoopShared& shared;
    const ConnectionOptions& options;
    Waker& waker;
    Receiver& receiver;
    std::weak_ptr<ReadinessListener> listener;
    const bool& given_up;
};

// Errors: resolve_failed, connect_failed, tls_failed, attempt_timed_out; aborted when given up. Throws only a
// TaskGroup's cancellation.
[[nodiscard]] runtime::Task<std::expected<std::unique_ptr<Transport>, DialError>> dial(Dialler dialler,
                                                                                       Instant deadline);

}  // namespace longhold::upstream
