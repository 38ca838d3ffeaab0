// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "world.h"

namespace longhold::sim {
namespace {

constexpr Nanos deliver_every = 400 * millisecond;
constexpr std::uint64_t at_once_max = 64;   // of one connection
constexpr std::uint64_t pending_max = 500;  // of one connection; then it stops reading

}  // namespace

// Takes in what the upstreams have sent, and hands it to the sink in one batch.
void World::deliver(Process& process) {
    queue_.push(now_ + deliver_every + static_cast<Nanos>(random_.below(deliver_every / 4)), Due::deliver,
                process.number);
    if (process.sockets.empty() || !process.may_act(now_)) {
        return;
    }
    Batch batch{.process = process.number, .session = process.session, .parts = {}};
    const Instant local = process.clock.at(now_);
    for (auto& [connection, socket] : process.sockets) {
        if (socket.closing || now_ < socket.reads_from) {
            continue;
        }
        auto& tracker = socket.tracker;
        const std::uint64_t sent = socket.base + tracker.ordinal_sent();
        const std::uint64_t count = delivery_.count(connection, now_);
        if (count <= sent || tracker.pending() >= pending_max) {
            continue;
        }
        const std::uint64_t first = tracker.ordinal_sent() + 1;
        const std::uint64_t last = first + std::min(count - sent, at_once_max) - 1;
        for (std::uint64_t ordinal = first; ordinal <= last; ++ordinal) {
            tracker.sent(ordinal, 1, std::to_string(socket.base + ordinal), local);
        }
        messages_ += last - first + 1;
        batch.parts.push_back(Batch::Part{connection, socket.epoch, first, last});
    }
    if (batch.parts.empty()) {
        return;
    }
    std::uint32_t number = 0;
    if (batches_free_.empty()) {
        number = static_cast<std::uint32_t>(batches_.size());
        batches_.push_back(std::move(batch));
    } else {
        number = batches_free_.back();
        batches_free_.pop_back();
        batches_[number] = std::move(batch);
    }
    Nanos after = 2 * millisecond + static_cast<Nanos>(random_.below(40 * millisecond));
    if (slow_sinks_ > 0) {
        after += static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(slow_sink_)));
        count(FaultKind::slow_sink);
    }
    queue_.push(now_ + after, Due::batch_lands, number);
}

void World::batch_lands(std::uint32_t number) {
    Batch& batch = batches_[number];
    Process& process = *processes_[batch.process];
    const bool local = plan_.sink == SinkKind::local;
    if (local && process.paused && process.alive()) {
        process.waiting.push_back(Item{.at = now_, .a = number, .due = Due::batch_lands});
        return;
    }
    const bool right = process.may_act(now_) && process.session == batch.session;
    if (local && !right) {
        batches_free_.push_back(number);
        return;
    }
    std::erase_if(batch.parts, [&](const Batch::Part& part) {
        if (local) {
            // What is unacked when its connection is given up is dropped with it.
            const auto socket = process.sockets.find(part.connection);
            if (socket == process.sockets.end() || socket->second.epoch != part.epoch) {
                return true;
            }
        }
        if (plant_ == Plant::message_dropped && part.connection == 0 && now_ > 15 * second) {
            return false;
        }
        return !delivery_.land(part.connection, part.epoch, part.first, part.last);
    });
    queue_.push(now_ + plan_.hop, Due::batch_acked, number);
}

void World::batch_acked(Process& process, std::uint32_t number) {
    const Batch batch = std::exchange(batches_[number], Batch{});
    batches_free_.push_back(number);
    if (!process.alive()) {
        return;
    }
    for (const auto& part : batch.parts) {
        const auto entry = process.sockets.find(part.connection);
        if (entry == process.sockets.end() || entry->second.epoch != part.epoch) {
            continue;
        }
        entry->second.tracker.acked(part.first, part.last);
        if (entry->second.closing && entry->second.tracker.pending() == 0) {
            look_at_close(process, part.connection, part.epoch.value);
        }
    }
}

}  // namespace longhold::sim
