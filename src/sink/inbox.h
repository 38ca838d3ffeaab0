// SPDX-License-Identifier: Apache-2.0
// Inbox: how batches get from any thread to a sink's own thread, and that thread's way to wait.
//
// Lock-free: a stack that the taker turns round whole, and an eventfd that is written only when the stack was empty. It
// has no bound of its own: bytes that have not come back are bounded by those who submit.
#pragma once

#include <longhold/base/time.h>
#include <longhold/sink/sink.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

namespace longhold::sink {

// What a sink's thread gets: a batch, or the news that `session` has ended.
struct Item {
    std::unique_ptr<RecordBatch> batch;  // none: the session has ended
    BatchReceiver* receiver = nullptr;
    SessionId session;
    Item* next = nullptr;  // the inbox's own
};

using Items = std::deque<std::unique_ptr<Item>>;

// An event that one thread waits for and any may signal; it stays signalled until it was waited for.
class Signal {
public:
    Signal();
    ~Signal();
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    // False when the process had no descriptor left for it; nothing else may be called then.
    [[nodiscard]] bool valid() const { return descriptor_ >= 0; }

    void raise();
    // Waits, `longest` at most, and takes the signal. Nothing waits without end.
    void wait(std::optional<Duration> longest);

private:
    int descriptor_;
};

class Inbox {
public:
    Inbox() = default;
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    [[nodiscard]] bool valid() const { return signal_.valid(); }

    // From any thread. Gives the item back when the inbox is sealed.
    [[nodiscard]] std::unique_ptr<Item> push(std::unique_ptr<Item> item);

    void wake() { signal_.raise(); }

    // The sink's thread alone: appends what came in, in order, and waits for more.
    void take(Items& items);

    void wait(std::optional<Duration> longest) { signal_.wait(longest); }

    // Takes the rest; after this push() refuses.
    void seal(Items& items);

private:
    static void append(Item* newest, Items& items);

    Signal signal_;
    Item sealed_;  // only its address counts
    std::atomic<Item*> newest_{nullptr};
};

}  // namespace longhold::sink
