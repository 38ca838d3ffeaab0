// SPDX-License-Identifier: Apache-2.0
// Network: what becomes of a call on its way between a worker and the store, by the faults that are on.
#pragma once

#include <longhold/base/random.h>
#include <longhold/sim/plan.h>

#include <vector>

namespace longhold::sim {

struct Fate {
    Nanos there = 0;
    Nanos back = 0;
    bool call_lost = false;
    bool answer_lost = false;
    bool refused_at_once = false;  // the caller hears at once that it could not be asked
    bool error = false;            // the answer becomes an error on its way
    bool again = false;            // carried out a second time, so much later
    Nanos again_after = 0;
    bool again_answers = false;  // the caller hears the answer to the second one
    Nanos index_lag = 0;
};

class Network {
public:
    Network(const Plan& plan, FaultCounts& counts)
        : plan_(plan), counts_(counts), random_(Random{plan.seed ^ 0x6e6574ULL}.next()) {}

    void begin(const Fault& fault) { on_.push_back(&fault); }

    void end(const Fault& fault) { std::erase(on_, &fault); }

    void end_all() { on_.clear(); }

    // A worker by its slot.
    [[nodiscard]] Fate fate(std::uint32_t slot);

private:
    void apply(const Fault& fault, std::uint32_t slot, Fate& fate);

    [[nodiscard]] bool chance(std::int64_t in_a_thousand) {
        return random_.below(1'000) < static_cast<std::uint64_t>(in_a_thousand);
    }

    [[nodiscard]] Nanos up_to(Nanos most) {
        return static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(most) + 1));
    }

    void count(FaultKind kind) { ++counts_.at(static_cast<std::size_t>(kind)); }

    const Plan& plan_;
    FaultCounts& counts_;
    Random random_;
    std::vector<const Fault*> on_;
};

}  // namespace longhold::sim
