// SPDX-License-Identifier: Apache-2.0
// Runs one task on a loop to its end, for tests.
#pragma once

#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/runtime/task_group.h>

#include <utility>

namespace longhold::lifecycle {

// A clock, a loop on it, and a way to run one task there. Once per object; the task must not throw.
struct LoopRunner {
    void run(runtime::Task<> task) {
        runtime::TaskGroup group{loop};
        group.spawn(finish_after(std::move(task)));
        loop.run();
    }

    runtime::SystemClock clock;
    runtime::Loop loop{clock};

private:
    runtime::Task<> finish_after(runtime::Task<> task) {
        co_await std::move(task);
        loop.finish();
    }
};

}  // namespace longhold::lifecycle
