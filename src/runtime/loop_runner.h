// SPDX-License-Identifier: Apache-2.0
// Runs one task on a loop to its end, for tests.
#pragma once

#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

namespace longhold::runtime {

// A clock, a loop on it, and a way to run one task there. Once per object.
struct LoopRunner {
    // Rethrows what the task threw.
    void run(Task<> task) {
        std::exception_ptr failure;
        boost::asio::co_spawn(loop.context(), std::move(task), [&](std::exception_ptr thrown) {
            failure = std::move(thrown);
            loop.finish();
        });
        loop.run();
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    SystemClock clock;
    Loop loop{clock};
};

}  // namespace longhold::runtime
