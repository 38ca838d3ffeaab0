// SPDX-License-Identifier: Apache-2.0
// sometimes(): says that a rare situation was reached, so that a simulation can tell whether it ever tested it.
//
// Without an observer it costs one look at a thread's variable. Thread-safety: each thread has its own observer.
#pragma once

#include <string_view>

namespace longhold {

class MarkObserver {
public:
    virtual void reached(std::string_view mark) = 0;

protected:
    ~MarkObserver() = default;
};

// Whoever observes this thread's marks; null outside a simulation. Set through ObservedMarks only.
inline constinit thread_local MarkObserver* mark_observer = nullptr;

inline void sometimes(bool holds, std::string_view mark) {
    if (holds && mark_observer != nullptr) {
        mark_observer->reached(mark);
    }
}

// While it lives, this thread's marks are told to the observer.
class ObservedMarks {
public:
    explicit ObservedMarks(MarkObserver& observer) : before_(mark_observer) { mark_observer = &observer; }

    ~ObservedMarks() { mark_observer = before_; }

    ObservedMarks(const ObservedMarks&) = delete;
    ObservedMarks& operator=(const ObservedMarks&) = delete;

private:
    MarkObserver* before_;
};

}  // namespace longhold
