// SPDX-License-Identifier: Apache-2.0
// Delivery: the upstreams and the sink: which messages exist, which records are durable, what a reader makes of them.
//
// Each upstream counts whether or not anyone listens, and replays from a cursor. Within an epoch the record with
// ordinal n carries the sequence number base + n, so that runs of records are kept as ranges.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/sim/plan.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace longhold::sim {

class Delivery {
public:
    explicit Delivery(const Plan& plan);

    // Messages that the upstream has sent until now.
    [[nodiscard]] std::uint64_t count(std::uint32_t connection, Nanos now) const;

    // An epoch begins with a state record that names its resume point. Returns its base, or what is wrong. `skipped`:
    // messages that a planted breach leaves out.
    struct Begun {
        std::uint64_t base = 0;
        std::string wrong;
    };

    Begun begin(Nanos now, const core::ConnectionRow& row, const SessionId& session, bool held_before,
                std::uint64_t skipped);

    // Records arrive. Returns whether the sink takes them.
    bool land(std::uint32_t connection, Epoch epoch, std::uint64_t first, std::uint64_t last);

    // Whether everything up to the cursor is durable.
    [[nodiscard]] bool covers(std::uint32_t connection, const core::Cursor& cursor) const;

    // How far the sink holds what the session wrote, without a hole.
    void add_resume_points(const SessionId& session, std::map<ConnectionId, core::Cursor>& points) const;

    // How far the newest epoch of a connection is durable, as a sequence number.
    [[nodiscard]] std::uint64_t reached(std::uint32_t connection) const;

    // Reads all records as a reader does; returns a sentence when a message is missing without a gap record.
    [[nodiscard]] std::string missing() const;

    [[nodiscard]] std::uint64_t records_late() const;

    [[nodiscard]] std::uint64_t gaps() const { return gaps_; }

    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    struct EpochLog {
        Epoch epoch;
        SessionId session;
        std::optional<core::Cursor> resume;
        std::uint64_t base = 0;
        bool gap = false;                                              // a gap record covers what lies before the base
        std::uint64_t durable = 0;                                     // ordinals from 1 without a hole
        std::vector<std::pair<std::uint64_t, std::uint64_t>> islands;  // beyond a hole
    };

    // The log of an epoch, or null. Latest first: most questions are about the newest.
    template <class Logs>
    static auto* find(Logs& logs, Epoch epoch) {
        for (std::size_t i = logs.size(); i > 0; --i) {
            if (logs[i - 1].epoch == epoch) {
                return &logs[i - 1];
            }
        }
        return static_cast<decltype(logs.data())>(nullptr);
    }

    // The last ordinal of log `index` that readers keep.
    [[nodiscard]] static std::uint64_t kept(const std::vector<EpochLog>& logs, std::size_t index);

    [[nodiscard]] static bool has_records(const EpochLog& log) { return log.durable > 0 || !log.islands.empty(); }

    const Plan& plan_;
    std::vector<std::vector<EpochLog>> logs_;  // by connection; epochs rise
    std::vector<Epoch> newest_seen_;           // by connection: of a record
    std::uint64_t gaps_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace longhold::sim
