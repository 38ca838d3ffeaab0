// SPDX-License-Identifier: Apache-2.0
#include "network.h"

namespace longhold::sim {

Fate Network::fate(std::uint32_t slot) {
    Fate fate;
    fate.there = plan_.hop + up_to(plan_.hop);
    fate.back = plan_.hop + up_to(plan_.hop);
    for (const Fault* const fault : on_) {
        apply(*fault, slot, fate);
    }
    return fate;
}

void Network::apply(const Fault& fault, std::uint32_t slot, Fate& fate) {
    const Nanos lease = plan_.config.lease.count();
    switch (fault.kind) {
        case FaultKind::delay:
            if (chance(fault.amount)) {
                // Mostly a little, sometimes for leases: a write that lands long after its caller has given it up.
                const Nanos most = chance(200) ? 3 * lease : lease / 6;
                (chance(500) ? fate.there : fate.back) += up_to(most);
                count(fault.kind);
            }
            return;
        case FaultKind::loss:
            if (chance(fault.amount)) {
                (chance(500) ? fate.call_lost : fate.answer_lost) = true;
                count(fault.kind);
            }
            return;
        case FaultKind::duplicate:
            if (chance(fault.amount)) {
                fate.again = true;
                fate.again_answers = chance(300);
                fate.again_after = fate.again_answers ? up_to(20 * millisecond) : up_to(2 * lease);
                count(fault.kind);
            }
            return;
        case FaultKind::reorder:
            if (chance(fault.amount)) {
                fate.there += up_to(50 * millisecond);
                fate.back += up_to(50 * millisecond);
                count(fault.kind);
            }
            return;
        case FaultKind::commit_error:
            if (chance(fault.amount)) {
                fate.error = true;
                count(fault.kind);
            }
            return;
        case FaultKind::stale_index:
            fate.index_lag = up_to(fault.amount);
            return;
        case FaultKind::partition_calls:
            if (slot == fault.target % plan_.workers) {
                fate.call_lost = true;
                count(fault.kind);
            }
            return;
        case FaultKind::partition_answers:
            if (slot == fault.target % plan_.workers) {
                fate.answer_lost = true;
                count(fault.kind);
            }
            return;
        case FaultKind::outage:
            fate.call_lost = true;
            fate.refused_at_once = (fault.target & 1U) != 0;
            count(fault.kind);
            return;
        default:
            return;
    }
}

}  // namespace longhold::sim
