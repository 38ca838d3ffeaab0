// SPDX-License-Identifier: Apache-2.0
// main() of longhold-sim: runs seeds on threads and prints what sim says of them. Each seed is a pure function, so that
// threads share nothing but the number of the next one.
#include <longhold/runtime/clock.h>
#include <longhold/runtime/thread.h>
#include <longhold/sim/command_line.h>
#include <longhold/sim/report.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <list>
#include <thread>
#include <vector>

namespace longhold::app {
namespace {

// So many violations end a run: the rest would say the same.
constexpr std::uint64_t violations_max = 20;
constexpr std::size_t violations_described = 2;

// For the one line that an abort can still print.
thread_local std::uint64_t current_seed = 0;
thread_local char current_command[160] = {};

// An invariant() of the engine stops the process: says which seed it was.
extern "C" void on_abort(int /*signal*/) {
    constexpr char text[] = "longhold-sim: a seed stopped the process; replay: ";
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
    std::size_t size = 0;
    while (size < sizeof current_command && current_command[size] != 0) {
        ++size;
    }
    written = ::write(STDERR_FILENO, current_command, size);
    written = ::write(STDERR_FILENO, "\n", 1);
    (void)std::signal(SIGABRT, SIG_DFL);
}

struct Shared {
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> violations{0};
};

std::vector<sim::RunResult> run_some(const sim::CommandLine& asked, Shared& shared) {
    std::vector<sim::RunResult> results;
    while (shared.violations.load() < violations_max) {
        const std::uint64_t index = shared.next.fetch_add(1);
        if (index >= asked.seeds) {
            break;
        }
        const sim::Plan plan = sim::draw_plan(asked.scenario, asked.seed + index, asked.minutes);
        current_seed = plan.seed;
        std::snprintf(current_command, sizeof current_command, "%s", sim::replay_command(plan).c_str());
        results.push_back(sim::run(plan));
        shared.violations += results.back().violation ? 1 : 0;
        ++shared.done;
    }
    return results;
}

int run_traced(const sim::CommandLine& asked) {
    const sim::Plan plan = sim::draw_plan(asked.scenario, asked.seed, asked.minutes);
    const auto result = sim::run(plan, sim::Plant::none, [](const std::string& line) { std::puts(line.c_str()); });
    sim::Totals totals;
    totals.add(result);
    std::fputs(totals.text(asked).c_str(), stdout);
    if (result.violation) {
        std::printf("VIOLATED %s: %s\n", std::string{sim::text(result.violation->invariant)}.c_str(),
                    result.violation->sentence.c_str());
    }
    return result.violation ? 3 : 0;
}

int run_seeds(const sim::CommandLine& asked) {
    Shared shared;
    const auto jobs = asked.jobs > 0 ? asked.jobs : std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::vector<sim::RunResult>> results(jobs);
    {
        std::list<runtime::Thread> threads;
        for (std::uint32_t i = 0; i < jobs; ++i) {
            threads.emplace_back("sim " + std::to_string(i), [&, i] { results[i] = run_some(asked, shared); });
        }
    }
    sim::Totals totals;
    for (const auto& some : results) {
        for (const auto& result : some) {
            totals.add(result);
        }
    }
    std::size_t described = 0;
    for (const auto& [seed, violation] : totals.violations()) {
        const sim::Plan plan = sim::draw_plan(asked.scenario, seed, asked.minutes);
        if (described++ < violations_described) {
            std::fputs(sim::describe_violation(plan, violation).c_str(), stdout);
        } else {
            std::printf("VIOLATED %s: %s\n  replay: %s\n", std::string{sim::text(violation.invariant)}.c_str(),
                        violation.sentence.c_str(), sim::replay_command(plan).c_str());
        }
    }
    const auto untested = totals.untested(asked);
    for (const auto& line : untested) {
        std::printf("NOT TESTED: %s\n", line.c_str());
    }
    std::fputs(totals.text(asked).c_str(), stdout);
    return totals.violations().empty() && untested.empty() ? 0 : 3;
}

}  // namespace
}  // namespace longhold::app

int main(int count, char** words) {
    (void)std::signal(SIGABRT, longhold::app::on_abort);
    const auto asked = longhold::sim::parse({words + 1, words + count});
    if (!asked) {
        std::fprintf(stderr, "longhold-sim: %s\n\n%s", asked.error().c_str(),
                     std::string{longhold::sim::usage()}.c_str());
        return 2;
    }
    if (asked->help) {
        std::fputs(std::string{longhold::sim::usage()}.c_str(), stdout);
        return 0;
    }
    return asked->trace ? longhold::app::run_traced(*asked) : longhold::app::run_seeds(*asked);
}
