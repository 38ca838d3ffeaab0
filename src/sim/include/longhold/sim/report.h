// SPDX-License-Identifier: Apache-2.0
// Totals: what a run of seeds adds up to, and how it is told. The order in which results are added does not matter.
#pragma once

#include <longhold/sim/command_line.h>
#include <longhold/sim/run.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longhold::sim {

class Totals {
public:
    void add(const RunResult& result);

    // The lines after the violations: marks, figures, and the closing line.
    [[nodiscard]] std::string text(const CommandLine& asked) const;

    // What a large mixed run should have tested and has not: fault kinds and marks. Empty for others.
    [[nodiscard]] std::vector<std::string> untested(const CommandLine& asked) const;

    // Runs that violated something, by seed.
    [[nodiscard]] const std::map<std::uint64_t, Violation>& violations() const { return violations_; }

    // Such a run must have tested everything.
    static constexpr std::uint64_t seeds_of_a_proof = 500;
    static constexpr std::uint64_t times_of_each_fault = 100;

private:
    std::uint64_t seeds_ = 0;
    Nanos simulated_ = 0;
    Nanos settled_max_ = 0;
    Nanos recovery_max_ = 0;
    std::uint64_t hash_ = 0;  // of all, in any order
    std::uint64_t events_ = 0;
    std::uint64_t owner_changes_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t records_late_ = 0;
    std::uint64_t gaps_ = 0;
    std::uint64_t rollouts_ = 0;
    std::uint64_t moves_max_ = 0;
    FaultCounts faults_{};
    std::map<std::string_view, std::uint64_t> marks_;
    std::map<std::uint64_t, Violation> violations_;
};

// What violated the invariant, and the shortest way to see it again: the faults that are needed, and the last lines.
[[nodiscard]] std::string describe_violation(const Plan& plan, const Violation& violation, Plant plant = Plant::none);

}  // namespace longhold::sim
