// SPDX-License-Identifier: Apache-2.0
// AbortTable: the live sockets of a process, so that a watchdog thread can reset them all without
// waiting for any loop.
//
// abort_all() resets each connection with connect(AF_UNSPEC): the peer gets RST, queued bytes are
// dropped, and the descriptor stays open, so that it is never closed under its owner's feet and
// never reused while somebody else resets it.
//
// Thread-safety: all members may be called from any thread. enter() before connect(2), leave()
// before close(2). Lock-free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace longhold::runtime {

class AbortTable {
public:
    // `capacity`: the most descriptors at a time. Sockets beyond it are refused by enter().
    explicit AbortTable(std::size_t capacity);

    // A place in the table; none when it is full. `group` says who is reset together (an I/O loop's
    // number).
    struct Slot {
        std::size_t index = SIZE_MAX;

        [[nodiscard]] bool valid() const { return index != SIZE_MAX; }
    };

    [[nodiscard]] Slot enter(int descriptor, std::uint32_t group);
    void leave(Slot slot);

    // Resets every socket in the table; returns how many. Sockets entered meanwhile are reset or
    // refused by their right.
    std::size_t abort_all();
    std::size_t abort_group(std::uint32_t group);

    [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

private:
    // state: 0 free; otherwise (descriptor + 1) << 32 | group. A slot being reset is marked busy,
    // and leave() waits for that moment to pass.
    std::size_t abort_matching(bool any, std::uint32_t group);

    struct Entry {
        std::atomic<std::uint64_t> state{0};
        std::atomic<std::uint32_t> resetting{0};
    };

    std::size_t capacity_;
    std::unique_ptr<Entry[]> entries_;
    std::atomic<std::size_t> size_{0};
    std::atomic<std::size_t> hint_{0};
};

}  // namespace longhold::runtime
