// SPDX-License-Identifier: Apache-2.0
// Reads how far a final session's records reach, from the ends of its files.
#pragma once

#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/sink.h>

#include <cstdint>
#include <string>
#include <vector>

namespace longhold::sink {

struct ResumeScan {
    std::vector<SinkCursor> cursors;  // by connection
    std::uint64_t lines = 0;
    std::uint64_t bad_lines = 0;  // skipped, since they do not parse
    bool whole = true;            // false: older records were left out by the bound
};

inline constexpr std::uint64_t resume_bytes_max = 64ULL * 1024 * 1024;

// Makes the session's files durable first, since who wrote them may have died before it did. Then, of at most
// `bytes_max` from the end of the newest file backwards, takes each connection's furthest record. A connection for
// which these do not say what its upstream resumes from (neither a sequence in its latest stream nor the record that
// opened the stream) is left out: its checkpoint in the store is older, but has a value. Errors: `unavailable`.
[[nodiscard]] Result<ResumeScan> scan_resume_points(Files& files, const std::string& directory,
                                                    const SessionId& session,
                                                    std::uint64_t bytes_max = resume_bytes_max);

}  // namespace longhold::sink
