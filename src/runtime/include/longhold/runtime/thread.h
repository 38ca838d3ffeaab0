// SPDX-License-Identifier: Apache-2.0
// Thread: a named thread that is joined when its owner lets go of it.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace longhold::runtime {

// The owner makes `work` end before it destroys the Thread, or join() waits for ever. Signals stay blocked on it.
class Thread {
public:
    // `name`: at most 15 characters, as the kernel shows it.
    Thread(const std::string& name, std::function<void()> work);
    ~Thread();
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void join();

private:
    std::thread thread_;
};

}  // namespace longhold::runtime
