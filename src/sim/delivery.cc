// SPDX-License-Identifier: Apache-2.0
#include "delivery.h"

#include <longhold/base/sometimes.h>

#include <algorithm>
#include <limits>

#include "ids.h"

namespace longhold::sim {

Delivery::Delivery(const Plan& plan) : plan_(plan), logs_(plan.connections), newest_seen_(plan.connections) {}

std::uint64_t Delivery::count(std::uint32_t connection, Nanos now) const {
    // Rates differ by connection, up to four times.
    return static_cast<std::uint64_t>(now / (plan_.message_every * (1 + connection % 4)));
}

Delivery::Begun Delivery::begin(Nanos now, const core::ConnectionRow& row, const SessionId& session, bool held_before,
                                std::uint64_t skipped) {
    const auto connection = number_of(row.id);
    auto& logs = logs_[connection];
    EpochLog log{.epoch = row.epoch, .session = session, .resume = row.cursor};
    Begun begun;
    const std::string name = row.id.text() + " in epoch " + std::to_string(row.epoch.value);
    if (row.cursor) {
        log.base = std::stoull(row.cursor->value);
        const EpochLog* const former = find(logs, row.cursor->epoch);
        if (former == nullptr || log.base != former->base + row.cursor->ordinal ||
            former->durable < row.cursor->ordinal) {
            begun.wrong = name + " resumes from a cursor that the sink does not hold everything up to";
        }
    } else {
        // Nothing says from where: live, with a gap record where somebody was there before.
        log.base = count(connection, now);
        log.gap = held_before;
        const bool delivered = std::ranges::any_of(logs, has_records);
        if (delivered && !held_before) {
            begun.wrong = name + " begins without a cursor and without a gap record, though it was delivered before";
        }
        gaps_ += delivered ? 1 : 0;
        sometimes(delivered, "an owner died before any cursor of it was known");
    }
    log.base += skipped;
    begun.base = log.base;
    // An epoch may be opened later than a higher one, when a claim's answer was late.
    const auto place = std::ranges::upper_bound(logs, log.epoch, {}, &EpochLog::epoch);
    logs.insert(place, std::move(log));
    return begun;
}

bool Delivery::land(std::uint32_t connection, Epoch epoch, std::uint64_t first, std::uint64_t last) {
    Epoch& newest = newest_seen_[connection];
    if (epoch < newest) {
        sometimes(true, "records of an epoch arrived after those of the next");
        if (plan_.sink == SinkKind::comparing) {
            ++refused_;
            sometimes(true, "the sink refused a lower epoch");
            return false;
        }
    }
    newest = std::max(newest, epoch);
    EpochLog* const log = find(logs_[connection], epoch);
    if (log == nullptr) {
        return false;
    }
    if (first > log->durable + 1) {
        log->islands.emplace_back(first, last);
        return true;
    }
    log->durable = std::max(log->durable, last);
    bool grew = !log->islands.empty();
    while (grew) {
        grew = false;
        for (auto island = log->islands.begin(); island != log->islands.end(); ++island) {
            if (island->first <= log->durable + 1) {
                log->durable = std::max(log->durable, island->second);
                log->islands.erase(island);
                grew = !log->islands.empty();
                break;
            }
        }
    }
    return true;
}

bool Delivery::covers(std::uint32_t connection, const core::Cursor& cursor) const {
    const EpochLog* const log = find(logs_[connection], cursor.epoch);
    return log != nullptr && log->durable >= cursor.ordinal &&
           cursor.value == std::to_string(log->base + cursor.ordinal);
}

void Delivery::add_resume_points(const SessionId& session, std::map<ConnectionId, core::Cursor>& points) const {
    for (std::uint32_t i = 0; i < logs_.size(); ++i) {
        for (const auto& log : logs_[i]) {
            if (log.session != session || log.durable == 0) {
                continue;
            }
            const core::Cursor cursor{.epoch = log.epoch,
                                      .ordinal = log.durable,
                                      .stream = 1,
                                      .value = std::to_string(log.base + log.durable)};
            const auto [known, fresh] = points.try_emplace(connection_id(i), cursor);
            if (!fresh && core::further(cursor, known->second)) {
                sometimes(true, "the sink was further than a dead session's page");
                known->second = cursor;
            }
        }
    }
}

std::uint64_t Delivery::reached(std::uint32_t connection) const {
    const auto& logs = logs_[connection];
    return logs.empty() ? 0 : logs.back().base + logs.back().durable;
}

std::uint64_t Delivery::kept(const std::vector<EpochLog>& logs, std::size_t index) {
    const EpochLog& log = logs[index];
    for (std::size_t next = index + 1; next < logs.size(); ++next) {
        if (!has_records(logs[next])) {
            continue;  // its state record is not there: readers do not know of it
        }
        const auto& resume = logs[next].resume;
        if (!resume || resume->epoch > log.epoch) {
            break;
        }
        return resume->epoch < log.epoch ? 0 : resume->ordinal;
    }
    return std::numeric_limits<std::uint64_t>::max();
}

std::string Delivery::missing() const {
    struct Run {
        std::uint64_t after = 0;  // the last one before the run
        std::uint64_t last = 0;
    };

    for (std::uint32_t i = 0; i < logs_.size(); ++i) {
        const auto& logs = logs_[i];
        std::vector<Run> runs;
        for (std::size_t index = 0; index < logs.size(); ++index) {
            const EpochLog& log = logs[index];
            if (!has_records(log)) {
                continue;
            }
            if (log.gap && !runs.empty()) {
                runs.push_back(Run{runs.front().after, log.base});  // told
            }
            runs.push_back(Run{log.base, log.base + std::min(kept(logs, index), log.durable)});
        }
        if (runs.empty()) {
            continue;
        }
        const std::uint64_t end = runs.back().last;
        const std::uint64_t begin = runs.front().after;
        std::ranges::sort(runs, {}, &Run::after);
        std::uint64_t have = begin;
        for (const auto& run : runs) {
            if (run.after > have) {
                return connection_id(i).text() + " lacks the messages " + std::to_string(have + 1) + " to " +
                       std::to_string(run.after) + ", and no gap record says so";
            }
            have = std::max(have, run.last);
        }
        if (have < end) {
            return connection_id(i).text() + " lacks messages up to " + std::to_string(end);
        }
    }
    return {};
}

std::uint64_t Delivery::records_late() const {
    std::uint64_t late = 0;
    for (const auto& logs : logs_) {
        for (std::size_t index = 0; index < logs.size(); ++index) {
            const EpochLog& log = logs[index];
            const std::uint64_t keep = kept(logs, index);
            late += log.durable > keep ? log.durable - keep : 0;
            for (const auto& [first, last] : log.islands) {
                late += last > keep ? last - std::max(first - 1, keep) : 0;
            }
        }
    }
    return late;
}

}  // namespace longhold::sim
