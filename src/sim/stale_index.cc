// SPDX-License-Identifier: Apache-2.0
#include "stale_index.h"

#include "ids.h"

namespace longhold::sim {

void StaleIndex::changes(Nanos now, const core::ConnectionRow& before) {
    auto& versions = former_.at(number_of(before.id));
    while (!versions.empty() && versions.front().until < now - lag_max) {
        versions.pop_front();
    }
    versions.push_back(Version{now, before});
}

StaleIndex::Rows StaleIndex::as_of(Nanos when, const Rows& current) const {
    Rows rows = current;
    for (auto& [id, row] : rows) {
        for (const auto& version : former_.at(number_of(id))) {
            if (version.until > when) {
                row = version.row;
                break;
            }
        }
    }
    return rows;
}

}  // namespace longhold::sim
