// SPDX-License-Identifier: Apache-2.0
// Encoder: writes records as NDJSON lines, in the form that docs/sinks.md fixes.
//
// Once its buffers are warm it does not allocate. Thread-safety: none; one per writer.
#pragma once

#include <longhold/base/time.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/sink/record.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhold::sink {

class Encoder {
public:
    // Appends one line, with its newline, for each record of the batch. Requires valid UTF-8 in connection ids,
    // sequences and text bodies, bodies of gap and state records that are JSON members, and origins that are alive.
    void append(std::string& out, const RecordBatch& batch);

private:
    // `{"connection":"…","epoch":N,"ordinal":` of one origin. Only counts in the batch it was made for, since an
    // origin's memory may be another origin's in the next.
    struct Prefix {
        const Origin* origin = nullptr;
        std::uint64_t batch = 0;
        std::string text;
    };

    const std::string& prefix_of(const Origin& origin);
    void append_record(std::string& out, const RecordBatch& batch, const RecordHeader& header);
    void append_time(std::string& out, WallTime time);

    std::array<Prefix, 64> prefixes_;
    std::uint64_t batch_ = 0;
    std::chrono::sys_seconds second_ = std::chrono::sys_seconds::min();
    std::array<char, rfc3339_length> time_text_{};
};

// Whether `text` is a number as JSON has it.
[[nodiscard]] bool is_json_number(std::string_view text);

}  // namespace longhold::sink
