// SPDX-License-Identifier: Apache-2.0
// NdjsonReader: reads back what NDJSON sinks have left in a directory.
//
// Files come by session and number, records in the order of their lines: so records of one connection are in order
// within a session, not across sessions. Sorting by epoch and ordinal, dropping records beyond the next epoch's resume
// point and dropping duplicates are the caller's (docs/sinks.md). Takes no lock and changes nothing; a torn last line
// is skipped and counted, since a live writer may be in the middle of it.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/core/rows.h>
#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/record.h>
#include <longhold/sink/sink.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace longhold::sink {

struct ReadRecord {
    ConnectionId connection;
    Epoch epoch;
    std::uint64_t ordinal = 0;
    std::uint32_t stream = 0;
    RecordKind kind = RecordKind::data;
    bool binary = false;
    bool seq_is_text = false;
    std::string seq;  // as the upstream wrote it; empty: the record has none
    WallTime received_at{};
    std::string data;    // of data: the payload; where it is `binary`, still in base64
    std::string reason;  // of gap and state
    std::string from;    // of a gap, where known
    std::string to;
    bool has_resume = false;             // of state: whether it says where its epoch resumes
    std::optional<core::Cursor> resume;  // and where; none: from nowhere

    std::string file;  // name in the directory
    std::uint64_t line = 0;
};

// Thread-safety: none.
class NdjsonReader {
public:
    // Errors: `unavailable` where the directory cannot be listed. `files` outlives the reader.
    [[nodiscard]] static Result<std::unique_ptr<NdjsonReader>> open(const std::string& directory, Files& files);

    ~NdjsonReader();
    NdjsonReader(const NdjsonReader&) = delete;
    NdjsonReader& operator=(const NdjsonReader&) = delete;

    // Fills `record` with the next one; false at the end. Errors name file and line: `invalid` for a line that is no
    // record, `unavailable` for a file that cannot be read. The next call goes on with the next line, or file.
    [[nodiscard]] Result<bool> next(ReadRecord& record);

    // How many files so far ended in the middle of a line.
    [[nodiscard]] std::uint64_t torn_tails() const;

private:
    struct Impl;
    explicit NdjsonReader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::sink
