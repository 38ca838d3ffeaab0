// SPDX-License-Identifier: Apache-2.0
// Which sessions a worker watches closely when there are too many for everybody to watch everybody (rule 2).
//
// Pure. All workers that see the same sessions build the same ring, so that each session has exactly three that watch
// it.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/core/rows.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>

namespace longhold::core {

// Up to so many non-final sessions, one's own included, everybody watches everybody.
inline constexpr std::size_t watch_all_max = 32;

// How many a worker watches above that.
inline constexpr std::size_t watched_next = 3;

// A place on the ring.
struct Watchable {
    SessionId id;
    std::string zone;
};

// The next ones behind `own` on the ring of `sessions`, which are all non-final ones but `own`, in any order.
//
// The ring deals the zones out evenly, each by its sessions' hashes: the next ones are of other zones as far as there
// are such, so that who dies with a whole zone is watched from outside it, and still nobody is left out.
[[nodiscard]] std::set<SessionId> watched(const Watchable& own, std::span<const Watchable> sessions);

}  // namespace longhold::core
