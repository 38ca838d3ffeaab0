// SPDX-License-Identifier: Apache-2.0
// EventQueue: what happens next, by true time and then by the order in which it was planned: a binary heap.
#pragma once

#include <longhold/sim/plan.h>

#include <algorithm>
#include <vector>

namespace longhold::sim {

enum class Due : std::uint8_t {
    wake,            // a: process, b: number of the wake-up
    call_arrives,    // a: letter
    answer_arrives,  // a: letter
    call_times_out,  // a: letter
    page_arrives,    // a: page write
    deliver,         // a: process
    batch_lands,     // a: batch
    batch_acked,     // a: batch
    close_looks,     // a: process, b: connection and epoch
    checkpoint,      // a: process
    hint_arrives,    // a: process, b: number of the hint
    fault_begins,    // a: index in the plan
    fault_ends,      // a: index in the plan
    start_process,   // a: slot
    resume,          // a: process
    fleet,           // the director looks
    recovery_due,    // a: index of a crash
};

struct Item {
    Nanos at = 0;
    std::uint64_t number = 0;
    std::uint64_t b = 0;
    std::uint32_t a = 0;
    Due due = Due::wake;
};

class EventQueue {
public:
    void push(Nanos at, Due due, std::uint32_t a, std::uint64_t b = 0) {
        heap_.push_back(Item{at, ++number_, b, a, due});
        std::ranges::push_heap(heap_, later);
    }

    // Requires that something is planned.
    Item pop() {
        std::ranges::pop_heap(heap_, later);
        const Item item = heap_.back();
        heap_.pop_back();
        return item;
    }

    [[nodiscard]] bool empty() const { return heap_.empty(); }

    [[nodiscard]] Nanos next_at() const { return heap_.front().at; }

private:
    static bool later(const Item& a, const Item& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }

    std::vector<Item> heap_;
    std::uint64_t number_ = 0;
};

}  // namespace longhold::sim
