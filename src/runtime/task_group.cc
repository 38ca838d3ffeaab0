// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/task_group.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include "cancellation.h"

namespace longhold::runtime {

TaskGroup::~TaskGroup() {
    invariant(children_.empty(), "a TaskGroup is joined before it is destroyed");
}

void TaskGroup::spawn(Task<> task) {
    if (stopped_) {
        return;
    }
    const auto child = children_.emplace(children_.end());
    boost::asio::co_spawn(loop_.context(), std::move(task),
                          boost::asio::bind_cancellation_slot(child->slot(), [this, child](std::exception_ptr failure) {
                              ended(child, std::move(failure));
                          }));
}

void TaskGroup::stop() {
    stopped_ = true;
    for (auto& child : children_) {
        child.emit(boost::asio::cancellation_type::terminal);
    }
}

Task<> TaskGroup::join() {
    while (!children_.empty()) {
        co_await all_ended_.wait();
    }
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
}

void TaskGroup::ended(std::list<boost::asio::cancellation_signal>::iterator child, std::exception_ptr failure) {
    children_.erase(child);
    if (failure && !(stopped_ && is_cancellation(failure))) {
        if (!failure_) {
            failure_ = std::move(failure);
        }
        stop();
    }
    if (children_.empty()) {
        all_ended_.notify();
    }
}

}  // namespace longhold::runtime
