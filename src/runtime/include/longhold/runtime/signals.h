// SPDX-License-Identifier: Apache-2.0
// Signals: SIGTERM, SIGINT and SIGHUP as calls on a loop; SIGPIPE is ignored for the process.
#pragma once

#include <longhold/runtime/loop.h>

#include <functional>
#include <memory>

namespace longhold::runtime {

// Both run on the loop's thread, once per signal that arrived; signals that come faster than the loop turns may be
// merged by the kernel.
struct SignalHandlers {
    std::function<void(int signal)> on_stop;  // SIGTERM, SIGINT
    std::function<void()> on_reload;          // SIGHUP
};

// Thread-safety: create and destroy on the loop's thread, or while it does not run. One per process: from then on these
// signals no longer end it; destroying it restores the kernel's defaults, except for SIGPIPE.
class Signals {
public:
    Signals(Loop& loop, SignalHandlers handlers);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    struct Impl;
    void wait();

    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::runtime
