// SPDX-License-Identifier: Apache-2.0
// SessionRights: the right to act of one session: one for the watchdog, one for each I/O loop, so that a loop that does
// not turn any more can lose its own.
//
// Thread-safety: as ActingRight, once built.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/runtime/acting_right.h>

#include <memory>
#include <vector>

namespace longhold::worker {

struct SessionRights {
    SessionRights(SessionId of, std::size_t loops) : session(std::move(of)) {
        for (std::size_t i = 0; i < loops; ++i) {
            per_loop.push_back(std::make_shared<runtime::ActingRight>());
        }
    }

    void extend_until(Instant deadline) {
        for (const auto& right : per_loop) {
            right->extend_until(deadline);
        }
        whole->extend_until(deadline);
    }

    void revoke() {
        whole->revoke();
        for (const auto& right : per_loop) {
            right->revoke();
        }
    }

    SessionId session;
    std::shared_ptr<runtime::ActingRight> whole = std::make_shared<runtime::ActingRight>();
    std::vector<std::shared_ptr<runtime::ActingRight>> per_loop;
};

}  // namespace longhold::worker
