// SPDX-License-Identifier: Apache-2.0
// StaleIndex: the rows as they were a while ago, for index reads that lag behind the table.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/sim/plan.h>

#include <deque>
#include <map>
#include <vector>

namespace longhold::sim {

class StaleIndex {
public:
    using Rows = std::map<ConnectionId, core::ConnectionRow>;

    explicit StaleIndex(std::size_t connections) : former_(connections) {}

    // The row as it was until `now`.
    void changes(Nanos now, const core::ConnectionRow& before);
    // All rows as they were at `when`, at most `lag_max` ago.
    [[nodiscard]] Rows as_of(Nanos when, const Rows& current) const;

    static constexpr Nanos lag_max = 5 * second;

private:
    struct Version {
        Nanos until = 0;
        core::ConnectionRow row;
    };

    std::vector<std::deque<Version>> former_;  // by connection, oldest first
};

}  // namespace longhold::sim
