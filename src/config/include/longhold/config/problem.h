// SPDX-License-Identifier: Apache-2.0
// Problem: one thing that is wrong with what a person wrote, in the form in which every message of Longhold is printed.
#pragma once

#include <string>
#include <vector>

namespace longhold::config {

struct Problem {
    std::string what;    // names the thing: `lease.duration must be a duration, not an integer`
    std::string where;   // `longhold.toml:3:12`, `environment LONGHOLD_LEASE__DURATION`, `--set lease.duration`
    std::string remedy;  // what to do: `write it like "200ms", "6s" or "1m30s"`

    // "<what> (<where>): <what to do>"
    [[nodiscard]] std::string text() const { return what + " (" + where + "): " + remedy; }

    friend bool operator==(const Problem&, const Problem&) = default;
};

using Problems = std::vector<Problem>;

}  // namespace longhold::config
