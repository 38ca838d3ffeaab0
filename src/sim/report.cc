// SPDX-License-Identifier: Apache-2.0
#include <longhold/sim/report.h>

#include <algorithm>
#include <cstdio>
#include <deque>

namespace longhold::sim {
namespace {

constexpr std::size_t lines_last = 60;

std::string fixed(double value, const char* format) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::string seconds(Nanos nanos) {
    return fixed(static_cast<double>(nanos) / 1e9, "%.3f");
}

}  // namespace

void Totals::add(const RunResult& result) {
    ++seeds_;
    simulated_ += result.simulated;
    settled_max_ = std::max(settled_max_, result.settled_after);
    recovery_max_ = std::max(recovery_max_, result.recovery_max);
    hash_ += result.hash;
    events_ += result.events;
    owner_changes_ += result.owner_changes;
    messages_ += result.messages;
    records_late_ += result.records_late;
    gaps_ += result.gaps;
    rollouts_ += result.rollouts;
    moves_max_ = std::max(moves_max_, result.moves_max);
    for (std::size_t i = 0; i < fault_kind_count; ++i) {
        faults_.at(i) += result.faults.at(i);
    }
    for (const auto& [mark, count] : result.marks) {
        marks_[mark] += count;
    }
    if (result.violation) {
        violations_.emplace(result.seed, *result.violation);
    }
}

std::vector<std::string> Totals::untested(const CommandLine& asked) const {
    std::vector<std::string> lines;
    if (asked.scenario != Scenario::mixed || seeds_ < seeds_of_a_proof) {
        return lines;
    }
    for (std::size_t i = 0; i < fault_kind_count; ++i) {
        if (faults_.at(i) < times_of_each_fault) {
            lines.push_back("the fault " + std::string{sim::text(static_cast<FaultKind>(i))} + " happened only " +
                            std::to_string(faults_.at(i)) + " times");
        }
    }
    for (const auto& [mark, count] : marks_) {
        if (count == 0) {
            lines.push_back("never reached: " + std::string{mark});
        }
    }
    return lines;
}

std::string Totals::text(const CommandLine& asked) const {
    std::string out = "marks reached:\n";
    for (const auto& [mark, count] : marks_) {
        out += fixed(static_cast<double>(count), "%10.0f") + "  " + std::string{mark} + '\n';
    }
    out += "scenario " + std::string{sim::text(asked.scenario)} + ", events " + std::to_string(events_) +
           ", messages " + std::to_string(messages_) + ", late records that readers drop " +
           std::to_string(records_late_) + ", takeovers without a cursor (gap records) " + std::to_string(gaps_) + '\n';
    out += "settled at most " + seconds(settled_max_) + " s after the last fault";
    if (recovery_max_ > 0) {
        out += "; a crash got over in at most " + seconds(recovery_max_) + " s";
    }
    if (rollouts_ > 0) {
        out += "; in " + std::to_string(rollouts_) + " rollouts a connection moved at most " +
               std::to_string(moves_max_) + " times";
    }
    out += "\nhash " + fixed(static_cast<double>(hash_ >> 32U), "%.0f") + '-' +
           fixed(static_cast<double>(hash_ & 0xffffffffU), "%.0f") + '\n';
    out += "seeds " + std::to_string(seeds_) + ", simulated hours " +
           fixed(static_cast<double>(simulated_) / 3.6e12, "%.1f") + ", owner changes " +
           std::to_string(owner_changes_) + ", violations " + std::to_string(violations_.size()) + ", faults:";
    for (std::size_t i = 0; i < fault_kind_count; ++i) {
        out += ' ' + std::string{sim::text(static_cast<FaultKind>(i))} + ' ' + std::to_string(faults_.at(i));
    }
    return out + '\n';
}

std::string describe_violation(const Plan& plan, const Violation& violation, Plant plant) {
    std::string out = "VIOLATED " + std::string{text(violation.invariant)} + " at " + seconds(violation.at) +
                      " s: " + violation.sentence + "\n  seed " + std::to_string(plan.seed) +
                      "; replay: " + replay_command(plan) + '\n';
    const Plan small = minimised(plan, violation.invariant, plant);
    out += "  of " + std::to_string(plan.faults.size()) + " faults these are needed:\n";
    for (const auto& fault : small.faults) {
        out += "    " + seconds(fault.at) + " s  " + std::string{text(fault.kind)} + " target " +
               std::to_string(fault.target) + " for " + seconds(fault.duration) + " s, amount " +
               std::to_string(fault.amount) + '\n';
    }
    std::deque<std::string> last;
    const auto result = run(small, plant, [&last](const std::string& line) {
        last.push_back(line);
        if (last.size() > lines_last) {
            last.pop_front();
        }
    });
    out += "  with them: " + (result.violation ? result.violation->sentence : std::string{"nothing"}) +
           "\n  the last events:\n";
    for (const auto& line : last) {
        out += "    " + line + '\n';
    }
    return out;
}

}  // namespace longhold::sim
