// SPDX-License-Identifier: Apache-2.0
// Turn: what the parts of the engine share during one step: the time, the configuration, the way out.
#pragma once

#include <longhold/base/random.h>
#include <longhold/core/engine_types.h>

#include <map>
#include <vector>

namespace longhold::core {

// A request that waits for its answer.
struct PendingCall {
    Request request;
    Instant sent_at;
    SessionId session;  // one's own, when it was asked
};

// Lives for one step() only.
struct Turn {
    const EngineConfig& config;
    Instant now;
    std::vector<Command>& commands;
    std::map<CallId, PendingCall>& pending;
    CallId& last_call;
    Random& random;
    const SessionId& own;  // this worker's session, also when it is none any more

    // Emits the request as a Call.
    void call(Request request) {
        const CallId id = ++last_call;
        pending.emplace(id, PendingCall{request, now, own});
        commands.emplace_back(Call{id, std::move(request), config.attempt_timeout()});
    }

    void emit(Command command) { commands.push_back(std::move(command)); }

    void note(News news, SessionId session = {}, ConnectionId connection = {}, Epoch epoch = {}) {
        commands.emplace_back(Notice{news, std::move(session), std::move(connection), epoch});
    }

    // `duration`, more or less by the configured jitter.
    [[nodiscard]] Duration jittered(Duration duration) {
        return scale(duration, 1 + config.jitter * (2 * random.unit() - 1));
    }
};

// How soon something that failed is tried again.
inline constexpr Duration retry_after = std::chrono::milliseconds{100};

}  // namespace longhold::core
