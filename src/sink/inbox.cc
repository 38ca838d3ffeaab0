// SPDX-License-Identifier: Apache-2.0
#include "inbox.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace longhold::sink {

Signal::Signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Signal::~Signal() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void Signal::raise() {
    // It can only fail because it is already raised to its limit.
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

void Signal::wait(std::optional<Duration> longest) {
    pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
    int timeout = -1;
    if (longest) {
        const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(*longest).count();
        timeout = static_cast<int>(std::clamp<std::int64_t>(rounded_up, 0, 3'600'000));
    }
    if (::poll(&waited, 1, timeout) > 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(descriptor_, &count, sizeof count);
    }
}

Inbox::~Inbox() {
    Items rest;
    seal(rest);
}

std::unique_ptr<Item> Inbox::push(std::unique_ptr<Item> item) {
    Item* newest = newest_.load(std::memory_order_relaxed);
    do {
        if (newest == &sealed_) {
            return item;
        }
        item->next = newest;
    } while (!newest_.compare_exchange_weak(newest, item.get(), std::memory_order_release, std::memory_order_relaxed));
    static_cast<void>(item.release());
    if (newest == nullptr) {
        signal_.raise();
    }
    return nullptr;
}

void Inbox::append(Item* newest, Items& items) {
    Item* oldest = nullptr;
    while (newest != nullptr) {
        Item* const before = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = before;
    }
    while (oldest != nullptr) {
        Item* const after = oldest->next;
        items.emplace_back(oldest);
        oldest = after;
    }
}

void Inbox::take(Items& items) {
    append(newest_.exchange(nullptr, std::memory_order_acquire), items);
}

void Inbox::seal(Items& items) {
    Item* const newest = newest_.exchange(&sealed_, std::memory_order_acquire);
    if (newest != &sealed_) {
        append(newest, items);
    }
}

}  // namespace longhold::sink
