// SPDX-License-Identifier: Apache-2.0
// JobThread: one thread that carries out blocking work in order, from a bounded queue.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/thread.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace longhold::store {

// Thread-safety: submit() from any thread. Destroying one runs what is still queued.
class JobThread {
public:
    static constexpr std::size_t jobs_max = 4096;

    // `name`: at most 15 characters. The clock outlives it.
    JobThread(const std::string& name, const runtime::Clock& clock);
    ~JobThread();
    JobThread(const JobThread&) = delete;
    JobThread& operator=(const JobThread&) = delete;

    // Queues `job`; false, and `job` is dropped, when jobs_max are waiting or running.
    [[nodiscard]] bool submit(std::function<void()> job);

private:
    runtime::Loop loop_;
    std::atomic<std::size_t> jobs_{0};
    runtime::Thread thread_;
};

}  // namespace longhold::store
