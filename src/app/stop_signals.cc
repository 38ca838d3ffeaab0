// SPDX-License-Identifier: Apache-2.0
#include "stop_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace longhold::app {

StopSignals::StopSignals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigaddset(&signals, SIGINT);
    descriptor_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) {
        throw std::system_error(errno, std::generic_category(), "signals cannot be waited for");
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

StopSignals::~StopSignals() {
    signalfd_siginfo taken{};
    while (::read(descriptor_, &taken, sizeof taken) > 0) {
        // Taken, so that it does not strike when the mask is as it was.
    }
    ::close(descriptor_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace longhold::app
