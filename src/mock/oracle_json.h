// SPDX-License-Identifier: Apache-2.0
// The oracle's document; its form is described in src/mock/README.md.
#pragma once

#include <longhold/base/time.h>

#include <cstddef>
#include <string>

#include "feed.h"

namespace longhold::mock {

// What the document says of the server. Its times are wall time at the start plus what the monotonic clock
// counted since, so that a step of the wall clock moves nothing.
struct OracleBase {
    Instant started{};
    WallTime wall_started{};
    Instant now{};
    double rate = 0;
    std::size_t message_bytes = 0;
    std::size_t unsent_max = 0;
};

[[nodiscard]] std::string oracle_json(const OracleBase& base, const Feeds& feeds);
[[nodiscard]] std::string feed_json(const OracleBase& base, const Feed& feed);

}  // namespace longhold::mock
