// SPDX-License-Identifier: Apache-2.0
#include "job_thread.h"

#include <utility>

namespace longhold::store {

JobThread::JobThread(const std::string& name, const runtime::Clock& clock)
    : loop_(clock), thread_(name, [this] { loop_.run(); }) {}

JobThread::~JobThread() {
    loop_.finish();
}

bool JobThread::submit(std::function<void()> job) {
    if (jobs_.fetch_add(1, std::memory_order_relaxed) >= jobs_max) {
        jobs_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    loop_.post([this, work = std::move(job)]() mutable {
        std::exchange(work, nullptr)();
        jobs_.fetch_sub(1, std::memory_order_relaxed);
    });
    return true;
}

}  // namespace longhold::store
