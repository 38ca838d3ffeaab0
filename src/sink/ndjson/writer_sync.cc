// SPDX-License-Identifier: Apache-2.0
// The Writer's syncs, and what it does when something fails.
#include <algorithm>
#include <ranges>
#include <utility>

#include "writer.h"

namespace longhold::sink {

bool Writer::sync_is_due() const {
    return sync_due_ && (trouble_.load(std::memory_order_relaxed) != 0 || clock_.now() >= *sync_due_);
}

bool Writer::sync_all() {
    sync_due_.reset();
    bool all = true;
    for (auto& session : std::views::values(sessions_)) {
        if (!session->unsynced.empty()) {
            all = sync_session(*session) && all;
        }
    }
    return all;
}

bool Writer::sync_session(Session& session) {
    if (auto synced = session.file.sync(); !synced) {
        failed(Operation::sync, synced.error(), session.file.name());
        distrust(session);
        return false;
    }
    while (!session.unsynced.empty()) {
        auto item = std::move(session.unsynced.front());
        session.unsynced.pop_front();
        const bool acting = holds(*item->batch);
        give_back(std::move(item), acting ? Delivery::durable : Delivery::revoked);
    }
    return true;
}

// What the file has not synced may be lost, whatever a later sync of it says. All of it is written again, to the next
// file; readers may see these records twice, with the same key.
void Writer::distrust(Session& session) {
    [[maybe_unused]] const auto cut = session.file.cut_torn();
    session.file.close();
    if (current_) {
        const auto found = sessions_.find(current_->batch->session);
        if (found != sessions_.end() && found->second.get() == &session) {
            waiting_.push_front(std::move(current_));
        }
    }
    while (!session.unsynced.empty()) {
        waiting_.push_front(std::move(session.unsynced.back()));
        session.unsynced.pop_back();
    }
}

bool Writer::end_session(const SessionId& id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) {
        return true;
    }
    if (found->second->file.is_open() && !sync_session(*found->second)) {
        return false;
    }
    sessions_.erase(found);
    return true;
}

// A file that is old enough is closed although nothing more comes for it.
void Writer::close_aged() {
    const Instant now = clock_.now();
    for (auto& session : std::views::values(sessions_)) {
        SessionFile& file = session->file;
        if (file.is_open() && now - file.opened_at() >= options_.rotate_every && sync_session(*session)) {
            file.close();
        }
    }
}

void Writer::failed(Operation operation, int error, const std::string& file) {
    counters_.failures.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t trouble =
        std::uint64_t{static_cast<std::uint8_t>(operation)} << 32U | static_cast<std::uint32_t>(error);
    if (trouble_.exchange(trouble, std::memory_order_relaxed) != trouble) {
        log_.warning(
            "sink is stuck",
            {{"sink", options_.name}, {"directory", options_.directory}, {"file", file}, {"reason", health().reason}});
    }
    if (!retry_at_) {
        retry_at_ = clock_.now() + backoff_;
        backoff_ = std::min(backoff_ * 2, backoff_max);
    }
}

void Writer::recovered() {
    if (trouble_.exchange(0, std::memory_order_relaxed) != 0) {
        backoff_ = backoff_min;
        log_.info("sink writes again", {{"sink", options_.name}, {"directory", options_.directory}});
    }
}

// While nothing can be written, batches whose right has ended need not wait.
void Writer::revoke_waiting() {
    Items kept;
    for (auto& item : waiting_) {
        if (item->batch && !holds(*item->batch)) {
            give_back(std::move(item), Delivery::revoked);
        } else {
            kept.push_back(std::move(item));
        }
    }
    waiting_ = std::move(kept);
}

}  // namespace longhold::sink
