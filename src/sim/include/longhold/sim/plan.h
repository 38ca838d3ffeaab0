// SPDX-License-Identifier: Apache-2.0
// Plan: what one run of the simulation is made of, drawn from its seed before it begins: fleet, settings, faults.
//
// The faults are a plain list, so that a failing run can be made smaller by leaving some of them out.
#pragma once

#include <longhold/core/engine_types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace longhold::sim {

// True time, which no worker sees: nanoseconds since the run began.
using Nanos = std::int64_t;

inline constexpr Nanos millisecond = 1'000'000;
inline constexpr Nanos second = 1'000 * millisecond;

enum class Scenario : std::uint8_t { mixed, crash, clocks, store, deploy, operators };
inline constexpr std::size_t scenario_count = 6;
[[nodiscard]] std::string_view text(Scenario scenario);
[[nodiscard]] std::optional<Scenario> scenario(std::string_view text);

enum class FaultKind : std::uint8_t {
    delay,              // calls and answers take up to some leases
    loss,               // calls and answers are lost
    duplicate,          // a call is carried out again, later
    reorder,            // calls and answers overtake each other
    commit_error,       // a write happens and its caller hears an error
    stale_index,        // index reads show rows as they were
    partition_calls,    // one way: calls of a worker do not reach the store
    partition_answers,  // one way: the store's answers do not reach a worker
    outage,             // nobody reaches the store
    crash,              // a process dies, and is started again
    pause,              // nothing of a process runs for half a lease to five
    suspend,            // the same for a whole machine, and its wall clock jumps
    wall_jump,          // a wall clock jumps by hours
    clock_rate,         // a clock runs wrong, within drift_max
    drift_beyond,       // a clock runs wrong beyond drift_max
    slow_sink,          // acks and closes take seconds
    stuck_loop,         // an I/O loop of a worker does not turn any more
    deploy,             // every worker is replaced: the new one joins, the old one drains
    scale_out,          // one worker more
    scale_in,           // one worker less
    operator_start,
    operator_stop,
    operator_spec,
    operator_delete,
};
inline constexpr std::size_t fault_kind_count = 24;
[[nodiscard]] std::string_view text(FaultKind kind);

using FaultCounts = std::array<std::uint64_t, fault_kind_count>;

struct Fault {
    Nanos at = 0;
    FaultKind kind = FaultKind::delay;
    std::uint32_t target = 0;  // a worker or a connection: modulo how many there are
    Nanos duration = 0;
    std::int64_t amount = 0;  // by kind: parts in a thousand, parts in a million, or nanoseconds
};

// What the sink does about records that come late.
enum class SinkKind : std::uint8_t {
    local,      // looks at the right before each write, as files do
    remote,     // takes whatever arrives: readers drop what lies beyond the next epoch's resume point
    comparing,  // refuses an epoch lower than the one it saw, as SQL and KV sinks do
};

struct Plan {
    Scenario scenario = Scenario::mixed;
    std::uint64_t seed = 0;
    std::uint32_t workers = 3;
    std::uint32_t connections = 20;
    core::EngineConfig config;
    Nanos run_for = 0;
    bool beyond_drift = false;  // clocks are worse than promised: only the refusal of epochs is checked
    bool quiet = false;         // one crash at a time and nothing else: G5 is checked
    bool hints = true;          // workers reach each other
    SinkKind sink = SinkKind::local;
    Nanos hop = millisecond;  // one way between a worker and the store, at least
    Nanos checkpoint_every = 5 * second;
    Nanos message_every = second;  // of each upstream
    std::vector<Fault> faults;     // by time
};

// Requires minutes > 0.
[[nodiscard]] Plan draw_plan(Scenario scenario, std::uint64_t seed, std::uint32_t minutes);

}  // namespace longhold::sim
