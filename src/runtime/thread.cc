// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/thread.h>
#include <pthread.h>

#include <csignal>

namespace longhold::runtime {

Thread::Thread(const std::string& name, std::function<void()> work) {
    // Signals belong to the main thread: a new thread inherits the mask of its creator.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread{std::move(work)};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

Thread::~Thread() {
    join();
}

void Thread::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace longhold::runtime
