// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/engine_types.h>

#include <utility>

namespace longhold::core {

std::string_view text(LossReason reason) {
    switch (reason) {
        case LossReason::expired:
            return "expired";
        case LossReason::fenced:
            return "fenced";
        case LossReason::stolen:
            return "stolen";
        case LossReason::loops_stuck:
            return "loops_stuck";
    }
    std::unreachable();
}

std::string_view text(CloseReason reason) {
    switch (reason) {
        case CloseReason::stopped:
            return "stopped";
        case CloseReason::deleted:
            return "deleted";
        case CloseReason::drain:
            return "drain";
    }
    std::unreachable();
}

std::string_view text(News news) {
    switch (news) {
        case News::joined:
            return "session joined";
        case News::fenced_peer:
            return "dead session fenced";
        case News::fenced_absent:
            return "owner without a session fenced";
        case News::claim_won:
            return "connection claimed";
        case News::claim_lost:
            return "claim refused";
        case News::claim_void:
            return "claim answered too late";
        case News::released:
            return "connection released";
        case News::release_failed:
            return "release left to fencing";
        case News::removed_session:
            return "final session removed";
        case News::unknown_outcome:
            return "outcome unknown, reading back";
        case News::own_write_found:
            return "own write found";
        case News::at_capacity:
            return "at capacity, orphans left to others";
        case News::mass_expiry:
            return "many sessions look dead at once, fencing waits a lease";
    }
    std::unreachable();
}

}  // namespace longhold::core
