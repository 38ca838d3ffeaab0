// SPDX-License-Identifier: Apache-2.0
// Cuts torn last lines, which writers leave behind when they die in the middle of a write.
#pragma once

#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/sink.h>

#include <cstdint>
#include <string>
#include <vector>

namespace longhold::sink {

struct Repaired {
    std::string name;
    std::uint64_t bytes = 0;  // cut off behind the last newline
};

struct RepairReport {
    std::vector<Repaired> repaired;
    std::vector<std::string> failed;  // "name: reason"
    std::uint64_t locked = 0;         // left alone: their writers live
};

// Looks at each of the sink's files in the directory, and changes one only while holding its exclusive lock. Errors:
// `unavailable` where the directory cannot be listed; a single file's trouble is only reported.
[[nodiscard]] Result<RepairReport> repair_torn_lines(Files& files, const std::string& directory);

}  // namespace longhold::sink
