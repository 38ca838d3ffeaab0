// SPDX-License-Identifier: Apache-2.0
// StopSignals: SIGTERM and SIGINT as a readable descriptor, for work that waits for one without a loop.
#pragma once

#include <csignal>

namespace longhold::app {

// While it lives the two signals are blocked on the calling thread and on the threads that it starts meanwhile, and
// make the descriptor readable instead. A signal that came meanwhile does nothing more at its end.
//
// Thread-safety: create and destroy on one thread, before others that do not block the signals exist.
class StopSignals {
public:
    // Throws std::system_error where the kernel gives no descriptor.
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }

private:
    sigset_t before_{};
    int descriptor_ = -1;
};

}  // namespace longhold::app
