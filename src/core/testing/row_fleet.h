// SPDX-License-Identifier: Apache-2.0
// RowFleet: one real worker among session rows whose counters the test moves.
#pragma once

#include <set>
#include <string>

#include "engine_world.h"

namespace longhold::core::testing {

class RowFleet {
public:
    explicit RowFleet(int rows) {
        for (int i = 0; i < rows; ++i) {
            const SessionId id{"row" + std::to_string(i)};
            world.store.sessions[id] =
                SessionRow{.id = id, .lease = config.lease, .heartbeat_every = config.heartbeat_every};
        }
        world.run_for(std::chrono::milliseconds{500});
    }

    [[nodiscard]] const SessionId& own() { return world.worker(0).session; }

    // One heartbeat of each row that is not final and not among `still`.
    void beat(const std::set<SessionId>& still = {}) {
        for (auto& [id, row] : world.store.sessions) {
            if (id != own() && !still.contains(id) && !is_final(row.state)) {
                ++row.counter;
            }
        }
    }

    // Runs for `seconds`; all but `still` beat once a second.
    void run(int seconds, const std::set<SessionId>& still = {}) {
        for (int i = 0; i < seconds; ++i) {
            world.run_for(std::chrono::seconds{1});
            beat(still);
        }
    }

    [[nodiscard]] std::set<SessionId> rows() {
        std::set<SessionId> ids;
        for (const auto& [id, row] : world.store.sessions) {
            if (id != own()) {
                ids.insert(id);
            }
        }
        return ids;
    }

    EngineConfig config;
    EngineWorld world{1};
};

}  // namespace longhold::core::testing
