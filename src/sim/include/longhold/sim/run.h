// SPDX-License-Identifier: Apache-2.0
// run(): one seed: a whole fleet of the real engine under virtual time, with faults, checked after every event.
//
// A pure function of its arguments: the same plan gives the same hash, on any machine and any number of threads.
#pragma once

#include <longhold/sim/plan.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sim {

// What a run can violate.
enum class Invariant : std::uint8_t {
    one_owner,      // G1
    nothing_lost,   // G2
    cursor_ahead,   // a cursor is never ahead of what the sink acked
    cursor_back,    // a row's cursor never goes back
    epoch,          // rises by one with each claim, and never goes back; one session acts in it
    given_away,     // an epoch that was given away is not acted on
    session_state,  // session states only go forward
    rows_created,   // ownership verbs create and remove no connection row
    recovery,       // G5
    cheap,          // G6
    liveness,       // after the faults: one owner for what is wanted, none for what is not, final sessions removed
};
[[nodiscard]] std::string_view text(Invariant invariant);

struct Violation {
    Invariant invariant = Invariant::one_owner;
    std::string sentence;
    Nanos at = 0;
};

// A breach of one invariant that a test plants around the engines, to see that its checker notices.
enum class Plant : std::uint8_t {
    none,
    right_too_long,    // a worker believes that its right lasts a lease longer
    message_dropped,   // the sink acks a batch that it did not write
    cursor_ahead,      // a cursor page runs ahead of the acks
    resumes_too_far,   // a new owner asks the upstream for messages from further on than its cursor says
    cursor_back,       // a release takes the cursor off the row
    epoch_back,        // a claim's write lowers the epoch
    opens_given_away,  // a worker opens again what it has just closed and released
    session_revived,   // a FENCED row becomes ACTIVE
    row_created,       // a claim makes a row
    beats_too_often,   // each heartbeat is written a hundred times
    open_ignored,      // one connection is never dialled
    recovery_slow,     // the store answers so slowly that a crash takes too long to get over
};

struct RunResult {
    std::uint64_t seed = 0;
    std::uint64_t hash = 0;
    std::optional<Violation> violation;
    Nanos simulated = 0;
    Nanos settled_after = 0;  // from the end of the faults
    std::uint64_t events = 0;
    std::uint64_t owner_changes = 0;
    std::uint64_t messages = 0;
    std::uint64_t records_late = 0;  // that readers drop
    std::uint64_t gaps = 0;          // told, by gap records
    std::uint64_t writes = 0;
    Nanos recovery_max = 0;       // of quiet crashes
    std::uint64_t rollouts = 0;   // complete, and with nothing else going on
    std::uint64_t moves_max = 0;  // of one connection in one of them
    FaultCounts faults{};
    std::map<std::string_view, std::uint64_t> marks;  // all there are, hit or not
};

// `lines`: given every event and command as text, when set.
[[nodiscard]] RunResult run(const Plan& plan, Plant plant = Plant::none,
                            const std::function<void(const std::string&)>& lines = {});

// The plan with as few faults as still violate the same invariant, left out one at a time.
[[nodiscard]] Plan minimised(Plan plan, Invariant invariant, Plant plant = Plant::none);

}  // namespace longhold::sim
