// SPDX-License-Identifier: Apache-2.0
// TaskGroup: owns concurrent tasks of one loop, so that each is stopped and awaited by somebody.
//
// Thread-safety: none; lives on its loop's thread. Destroying one with live tasks stops the
// process: a lifetime bug shows at once.
#pragma once

#include <longhold/runtime/event.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>

#include <boost/asio/cancellation_signal.hpp>
#include <exception>
#include <list>

namespace longhold::runtime {

class TaskGroup {
public:
    explicit TaskGroup(Loop& loop) : loop_(loop), all_ended_(loop) {}

    ~TaskGroup();
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    // Starts `task` on the loop: at once, up to its first wait, when called on the loop's thread; a task that must not
    // run within the caller's turn yields first. After stop() it is dropped unstarted.
    void spawn(Task<> task);

    // Cancels every task at its current or next co_await. May be called more than once, and from
    // within a task of the group.
    void stop();

    // Returns when every task has ended; throws what a task threw, other than the cancellation that
    // stop() caused. A task that throws stops the others. Never call from a task of the group.
    [[nodiscard]] Task<> join();

    [[nodiscard]] bool stopped() const { return stopped_; }

    [[nodiscard]] std::size_t live() const { return children_.size(); }

private:
    void ended(std::list<boost::asio::cancellation_signal>::iterator child, std::exception_ptr failure);

    Loop& loop_;
    std::list<boost::asio::cancellation_signal> children_;
    std::exception_ptr failure_;
    bool stopped_ = false;
    Event all_ended_;
};

}  // namespace longhold::runtime
