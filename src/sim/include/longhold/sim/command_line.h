// SPDX-License-Identifier: Apache-2.0
// The words of longhold-sim: what it is asked, and the help that says so.
#pragma once

#include <longhold/sim/plan.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sim {

struct CommandLine {
    Scenario scenario = Scenario::mixed;
    std::uint64_t seed = 1;      // the first
    std::uint64_t seeds = 1;     // how many
    std::uint32_t minutes = 10;  // simulated, of each
    std::uint32_t jobs = 0;      // threads; 0: one per core
    bool trace = false;
    bool help = false;
};

[[nodiscard]] std::string_view usage();

// The sentence of an error names the word that is wrong.
[[nodiscard]] std::expected<CommandLine, std::string> parse(const std::vector<std::string>& words);

// The command that runs one seed again and prints all that happens.
[[nodiscard]] std::string replay_command(const Plan& plan);

}  // namespace longhold::sim
