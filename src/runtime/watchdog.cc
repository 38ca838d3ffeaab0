// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/thread.h>
#include <longhold/runtime/watchdog.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

namespace longhold::runtime {
namespace {

// Wakes at least so often, to notice that the clocks moved apart.
constexpr Duration look_every = std::chrono::milliseconds{500};

enum class Hold : std::uint8_t { idle, busy, ended };

}  // namespace

struct Watch::Entry {
    // What is watched: a right, a loop (and perhaps its right), or an instant.
    std::shared_ptr<ActingRight> right;
    const Loop* loop = nullptr;
    Instant at{};
    std::uint32_t group = 0;
    Duration limit{};
    std::function<void()> call;

    // busy: the watchdog's thread looks at it right now. ended: never looked at again.
    std::atomic<Hold> hold{Hold::idle};

    // The watchdog's thread only.
    bool fired = false;
    bool end_wanted = false;
    Instant tick_seen{};
    Duration awake_at_tick{};
};

namespace {

// Whose callback runs on this thread, so that it may end its own watch.
thread_local const Watch::Entry* calling = nullptr;

struct Descriptor {
    int number;

    explicit Descriptor(int opened) : number(opened) {
        invariant(opened >= 0, "the kernel has a descriptor for the watchdog");
    }

    ~Descriptor() { ::close(number); }

    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace

Watch::~Watch() {
    if (calling == entry_.get()) {
        entry_->end_wanted = true;
        return;
    }
    Hold expected = Hold::idle;
    while (!entry_->hold.compare_exchange_strong(expected, Hold::ended)) {
        if (expected == Hold::ended) {
            return;
        }
        entry_->hold.wait(Hold::busy);
        expected = Hold::idle;
    }
}

struct Watchdog::Impl {
    using EntryPointer = std::shared_ptr<Watch::Entry>;

    struct Node {
        EntryPointer entry;
        Node* next = nullptr;
    };

    Impl(const Clock& given_clock, AbortTable& given_sockets, WatchdogSettings given_settings)
        : clock(given_clock), sockets(given_sockets), settings(std::move(given_settings)) {}

    ~Impl() {
        stopping.store(true);
        wake();
        thread.reset();
        take_in();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    // From any thread.
    std::unique_ptr<Watch> add(EntryPointer entry) {
        auto* node = new Node{entry, added.load(std::memory_order_relaxed)};
        while (!added.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
        }
        wake();
        return std::make_unique<Watch>(std::move(entry));
    }

    void wake() const {
        const std::uint64_t one = 1;
        // A full counter already wakes the thread.
        [[maybe_unused]] const ssize_t written = ::write(wake_up.number, &one, sizeof one);
    }

    // All below: the watchdog's thread.
    void run();
    void take_in();
    void sleep_until(Instant when) const;
    [[nodiscard]] Instant next_look(Instant now) const;
    [[nodiscard]] Duration offset() const;
    void look_at_rights_and_instants(Instant now);
    void look_at_loops();
    void look_for_pauses(Instant asked, Instant now);
    template <class Look>
    void look(bool (*which)(const Watch::Entry&), Look act);
    static void fire(Watch::Entry& entry);

    const Clock& clock;
    AbortTable& sockets;
    WatchdogSettings settings;
    Descriptor timer{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
    Descriptor wake_up{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::atomic<bool> stopping{false};
    std::atomic<Node*> added{nullptr};
    std::vector<EntryPointer> entries;
    // Time during which this thread was not held up beyond what it asked for.
    Duration awake{};
    // From the constructor on: a pause before the thread's first look is one too.
    Instant looked_at = clock.now();
    Duration last_offset = offset();
    std::optional<Thread> thread;
};

void Watchdog::Impl::run() {
    while (!stopping.load()) {
        const Instant asked = next_look(looked_at);
        sleep_until(asked);
        const Instant now = clock.now();
        look_at_rights_and_instants(now);
        // What was added while the thread slept may be overdue as well.
        take_in();
        look_at_rights_and_instants(now);
        awake += std::min(now - looked_at, std::max(asked - looked_at, Duration::zero()));
        look_for_pauses(asked, now);
        look_at_loops();
        std::erase_if(entries, [](const EntryPointer& entry) { return entry->hold.load() == Hold::ended; });
        looked_at = now;
    }
}

void Watchdog::Impl::take_in() {
    Node* node = added.exchange(nullptr, std::memory_order_acquire);
    while (node != nullptr) {
        const std::unique_ptr<Node> owned{node};
        owned->entry->awake_at_tick = awake;
        entries.push_back(owned->entry);
        node = owned->next;
    }
}

void Watchdog::Impl::sleep_until(Instant when) const {
    const auto since_boot = std::max(when.time_since_epoch(), Duration{1});  // 0 would disarm
    itimerspec wanted{};
    wanted.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(since_boot).count();
    wanted.it_value.tv_nsec = (since_boot % std::chrono::seconds{1}).count();
    invariant(::timerfd_settime(timer.number, TFD_TIMER_ABSTIME, &wanted, nullptr) == 0,
              "the watchdog's timer can be set");
    std::array<pollfd, 2> waiting{pollfd{timer.number, POLLIN, 0}, pollfd{wake_up.number, POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] ssize_t got = ::read(timer.number, &count, sizeof count);
    got = ::read(wake_up.number, &count, sizeof count);
}

Instant Watchdog::Impl::next_look(Instant now) const {
    Instant next = now + look_every;
    for (const auto& entry : entries) {
        if (entry->loop != nullptr) {
            next = std::min(next, now + entry->limit / 4);
        } else if (!entry->fired) {
            next = std::min(next, entry->right ? entry->right->deadline() : entry->at);
        }
    }
    return next;
}

Duration Watchdog::Impl::offset() const {
    const Duration boot = clock.now().time_since_epoch();
    return Duration{clock.wall_now().time_since_epoch()} - boot;
}

// Holds each matching entry while `act` looks at it, so that its Watch cannot end meanwhile.
template <class Look>
void Watchdog::Impl::look(bool (*which)(const Watch::Entry&), Look act) {
    for (const auto& entry : entries) {
        Hold expected = Hold::idle;
        if (!which(*entry) || !entry->hold.compare_exchange_strong(expected, Hold::busy)) {
            continue;
        }
        act(*entry);
        entry->hold.store(entry->end_wanted ? Hold::ended : Hold::idle);
        entry->hold.notify_all();
    }
}

void Watchdog::Impl::fire(Watch::Entry& entry) {
    entry.fired = true;
    calling = &entry;
    entry.call();
    calling = nullptr;
}

void Watchdog::Impl::look_at_rights_and_instants(Instant now) {
    look([](const Watch::Entry& entry) { return entry.loop == nullptr && entry.right && !entry.fired; },
         [this, now](Watch::Entry& entry) {
             if (now < entry.right->deadline()) {
                 return;
             }
             entry.right->revoke();
             sockets.abort_all();
             fire(entry);
         });
    look([](const Watch::Entry& entry) { return entry.loop == nullptr && !entry.right && !entry.fired; },
         [now](Watch::Entry& entry) {
             if (now >= entry.at) {
                 fire(entry);
             }
         });
}

void Watchdog::Impl::look_for_pauses(Instant asked, Instant now) {
    const Duration late = now - asked;
    const Duration offset_now = offset();
    const Duration apart = offset_now > last_offset ? offset_now - last_offset : last_offset - offset_now;
    last_offset = offset_now;
    if (!settings.on_pause) {
        return;
    }
    if (late >= settings.pause_min) {
        settings.on_pause(Pause{Pause::Kind::late_wake, late});
    }
    if (apart >= settings.pause_min) {
        settings.on_pause(Pause{Pause::Kind::clocks_diverged, apart});
    }
}

void Watchdog::Impl::look_at_loops() {
    look([](const Watch::Entry& entry) { return entry.loop != nullptr; },
         [this](Watch::Entry& entry) {
             const Instant ticked = entry.loop->ticked_at();
             if (ticked != entry.tick_seen) {
                 entry.tick_seen = ticked;
                 entry.awake_at_tick = awake;
                 entry.fired = false;
                 return;
             }
             if (entry.fired || awake - entry.awake_at_tick < entry.limit) {
                 return;
             }
             if (entry.right) {
                 entry.right->revoke();
             }
             sockets.abort_group(entry.group);
             fire(entry);
         });
}

Watchdog::Watchdog(const Clock& clock, AbortTable& sockets, WatchdogSettings settings)
    : impl_(std::make_unique<Impl>(clock, sockets, std::move(settings))) {
    impl_->thread.emplace("watchdog", [impl = impl_.get()] { impl->run(); });
}

Watchdog::~Watchdog() = default;

std::unique_ptr<Watch> Watchdog::watch_right(std::shared_ptr<ActingRight> right, std::function<void()> on_expired) {
    invariant(right != nullptr, "a watched right exists");
    auto entry = std::make_shared<Watch::Entry>();
    entry->right = std::move(right);
    entry->call = std::move(on_expired);
    return impl_->add(std::move(entry));
}

std::unique_ptr<Watch> Watchdog::watch_loop(const Loop& loop, std::uint32_t group, Duration limit,
                                            std::function<void()> on_stuck, std::shared_ptr<ActingRight> right) {
    invariant(limit >= 4 * Loop::tick_every, "a loop's limit leaves room for its ticks");
    auto entry = std::make_shared<Watch::Entry>();
    entry->loop = &loop;
    entry->group = group;
    entry->limit = limit;
    entry->call = std::move(on_stuck);
    entry->right = std::move(right);
    return impl_->add(std::move(entry));
}

std::unique_ptr<Watch> Watchdog::call_at(Instant when, std::function<void()> work) {
    auto entry = std::make_shared<Watch::Entry>();
    entry->at = when;
    entry->call = std::move(work);
    return impl_->add(std::move(entry));
}

}  // namespace longhold::runtime
