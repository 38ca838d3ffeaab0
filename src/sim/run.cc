// SPDX-License-Identifier: Apache-2.0
#include <longhold/sim/run.h>

#include <array>

#include "world.h"

namespace longhold::sim {

std::string_view text(Invariant invariant) {
    constexpr std::array<std::string_view, 11> names{
        "G1 one owner", "G2 nothing lost", "cursor behind acks", "cursors never go back", "epochs",
        "given away",   "session states",  "no rows created",    "G5 recovery",           "G6 cheap",
        "liveness"};
    return names.at(static_cast<std::size_t>(invariant));
}

RunResult run(const Plan& plan, Plant plant, const std::function<void(const std::string&)>& lines) {
    World world{plan, plant, lines};
    return world.run();
}

Plan minimised(Plan plan, Invariant invariant, Plant plant) {
    bool smaller = true;
    while (smaller) {
        smaller = false;
        for (std::size_t i = plan.faults.size(); i > 0; --i) {
            Plan without = plan;
            without.faults.erase(without.faults.begin() + static_cast<std::ptrdiff_t>(i - 1));
            const RunResult result = run(without, plant);
            if (result.violation && result.violation->invariant == invariant) {
                plan = std::move(without);
                smaller = true;
            }
        }
    }
    return plan;
}

}  // namespace longhold::sim
