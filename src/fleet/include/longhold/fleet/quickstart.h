// SPDX-License-Identifier: Apache-2.0
// Quickstart: a fleet on this machine, harmed on purpose, and what was proven by it.
//
// A mock upstream in this process, workers as processes of their own, one killed with -9, one drained and replaced.
// Then the sink's files are judged against the upstream's oracle (docs/proof-of-quickstart.md).
#pragma once

#include <longhold/base/time.h>
#include <longhold/fleet/proof.h>
#include <longhold/runtime/clock.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

namespace longhold::fleet {

struct QuickstartOptions {
    std::string program;    // path of longhold itself
    std::string directory;  // of messages, store, logs and proof material; exists and is empty
    std::string store_url;
    std::string name_space;  // fresh
    std::uint32_t workers = 3;
    std::uint32_t connections = 60;
    double rate = 20;  // messages per second of each connection
    Duration duration = std::chrono::seconds{20};
    Duration lease = std::chrono::seconds{6};
    int stop_descriptor = -1;  // once it is readable the run ends with an error; -1: nothing interrupts it
};

// What is known of one worker at a moment.
struct QuickstartWorker {
    std::string name;
    std::int64_t pid = 0;
    std::string state;  // "starting", "active", "draining", "killed", "left", …
    std::uint64_t held = 0;
};

struct QuickstartMoment {
    std::string doing;  // "w1 killed with -9: waiting for its connections"
    std::vector<QuickstartWorker> workers;
    std::uint64_t sockets_live = 0;
    std::uint64_t messages_sent = 0;
    Duration elapsed{};
};

struct QuickstartReports {
    // A new stage has begun.
    std::function<void(const std::string& stage)> stage;
    // About twice a second.
    std::function<void(const QuickstartMoment&)> moment;
};

// Runs it all on the calling thread; leaves messages/, oracle.json, events.json, store.json and proof.json in the
// directory. Errors: a sentence that says which stage failed and why. The namespace is removed from the store again;
// every process is ended.
[[nodiscard]] std::expected<ProofResult, std::string> run_quickstart(const QuickstartOptions& options,
                                                                     const runtime::Clock& clock,
                                                                     const QuickstartReports& reports);

}  // namespace longhold::fleet
