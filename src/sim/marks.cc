// SPDX-License-Identifier: Apache-2.0
#include "marks.h"

#include <longhold/base/invariant.h>

#include <array>
#include <string>

namespace longhold::sim {
namespace {

// Every mark that the simulation, or what it runs, can reach. One that no seed reaches is a hole in the proof.
constexpr std::array<std::string_view, 44> all_marks{
    "a claim was answered after its session had ended",
    "a claim was lost to another worker",
    "a dead process's write landed after its death",
    "a delivered connection's owner drained with records not acked",
    "a process crashed in the middle of a deploy",
    "a hint arrived",
    "a hint was not true",
    "a fence found that the heartbeat had come after all",
    "a heartbeat landed after its caller had given it up",
    "a late Join made the row of a removed session again",
    "a late claim was refused",
    "a late fence was refused",
    "a late release was refused",
    "a page was written after its session was final",
    "a restarted process joined before its former session was fenced",
    "a session was lost in its drain",
    "a dead session was fenced by a peer",
    "a stale index showed a row with another owner or epoch",
    "a wall clock jumped while connections were held",
    "a worker gave its own late claim's row a new epoch",
    "a worker was at its capacity",
    "an answer was replaced by that to a repeated call",
    "an index was stale",
    "an operator asked a worker to drain",
    "an operator changed a connection that nobody owned",
    "an owner died before any cursor of it was known",
    "an owner heard that its connection is deleted",
    "an owner heard that its connection is stopped",
    "an owner heard that its spec has changed",
    "an owner stopped acting when it woke after its deadline",
    "an owner went on when it woke before its deadline",
    "one loop's connections were released",
    "one's own write was found by reading back",
    "only a part of a batch was answered",
    "records of an epoch arrived after those of the next",
    "session lost: all loops stuck",
    "session lost: expired",
    "session lost: fenced",
    "the sink refused a lower epoch",
    "the sink was further than a dead session's page",
    "the sink's word on a dead session did not come",
    "two workers held one connection, one of them without a right",
    "unacked records were dropped at a close",
    "what a dead session held and nobody wants was freed",
};

}  // namespace

Marks::Marks() {
    for (const auto mark : all_marks) {
        counts_.emplace(mark, 0);
    }
}

void Marks::reached(std::string_view mark) {
    const auto known = counts_.find(mark);
    invariant(known != counts_.end(), mark);
    ++known->second;
}

void mark_command(const core::Command& command) {
    if (const auto* notice = std::get_if<core::Notice>(&command)) {
        const auto news = notice->news;
        sometimes(news == core::News::claim_lost, "a claim was lost to another worker");
        sometimes(news == core::News::claim_void, "a claim was answered after its session had ended");
        sometimes(news == core::News::own_write_found, "one's own write was found by reading back");
        sometimes(news == core::News::at_capacity, "a worker was at its capacity");
        sometimes(news == core::News::fenced_peer, "a dead session was fenced by a peer");
    } else if (const auto* drop = std::get_if<core::DropSession>(&command)) {
        const auto reason = drop->reason;
        sometimes(reason == core::LossReason::expired, "session lost: expired");
        sometimes(reason == core::LossReason::fenced, "session lost: fenced");
        sometimes(reason == core::LossReason::loops_stuck, "session lost: all loops stuck");
    } else if (const auto* close = std::get_if<core::CloseConnection>(&command)) {
        sometimes(close->reason == core::CloseReason::stopped, "an owner heard that its connection is stopped");
        sometimes(close->reason == core::CloseReason::deleted, "an owner heard that its connection is deleted");
    } else if (std::holds_alternative<core::UpdateConnection>(command)) {
        sometimes(true, "an owner heard that its spec has changed");
    } else if (std::holds_alternative<core::DrainAsked>(command)) {
        sometimes(true, "an operator asked a worker to drain");
    } else if (const auto* drained = std::get_if<core::Drained>(&command)) {
        sometimes(drained->session_lost, "a session was lost in its drain");
    }
}

}  // namespace longhold::sim
