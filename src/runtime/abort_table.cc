// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/abort_table.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace longhold::runtime {
namespace {

std::uint64_t pack(int descriptor, std::uint32_t group) {
    return (static_cast<std::uint64_t>(descriptor) + 1) << 32U | group;
}

}  // namespace

AbortTable::AbortTable(std::size_t capacity) : capacity_(capacity), entries_(std::make_unique<Entry[]>(capacity)) {}

AbortTable::Slot AbortTable::enter(int descriptor, std::uint32_t group) {
    invariant(descriptor >= 0, "an open descriptor enters the abort table");
    const std::size_t start = hint_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < capacity_; ++i) {
        const std::size_t index = (start + i) % capacity_;
        std::uint64_t free = 0;
        if (entries_[index].state.compare_exchange_strong(free, pack(descriptor, group))) {
            size_.fetch_add(1, std::memory_order_relaxed);
            return Slot{index};
        }
    }
    return Slot{};
}

void AbortTable::leave(Slot slot) {
    if (!slot.valid()) {
        return;
    }
    Entry& entry = entries_[slot.index];
    entry.state.store(0);
    // A reset that read the state before it was cleared may still use the descriptor: let it pass,
    // so that the number is not reused under it.
    while (entry.resetting.load() != 0) {
    }
    size_.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t AbortTable::abort_all() {
    return abort_matching(true, 0);
}

std::size_t AbortTable::abort_group(std::uint32_t group) {
    return abort_matching(false, group);
}

std::size_t AbortTable::abort_matching(bool any, std::uint32_t group) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < capacity_; ++i) {
        Entry& entry = entries_[i];
        if (entry.state.load(std::memory_order_relaxed) == 0) {
            continue;
        }
        entry.resetting.fetch_add(1);
        const std::uint64_t state = entry.state.load();
        if (state != 0 && (any || static_cast<std::uint32_t>(state) == group)) {
            sockaddr nowhere{};
            nowhere.sa_family = AF_UNSPEC;
            // It fails only for a socket that is no longer connected, which is as wanted.
            // By its number: race detectors take a connect(2) that they know for the making of the descriptor, and this
            // one is meant to meet its owner's reads.
            static_cast<void>(::syscall(SYS_connect, static_cast<int>((state >> 32U) - 1), &nowhere, sizeof nowhere));
            ++count;
        }
        entry.resetting.fetch_sub(1);
    }
    return count;
}

}  // namespace longhold::runtime
