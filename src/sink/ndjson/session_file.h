// SPDX-License-Identifier: Apache-2.0
// SessionFile: the one file that a session's records go to now.
//
// Knows where the last whole line ends. It only ever cuts what lies behind that: whole lines may already have been
// counted by a successor that resumes behind them.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/sink/ndjson/files.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace longhold::sink {

// Thread-safety: none; lives on the writer's thread. `files` outlives it.
class SessionFile {
public:
    SessionFile(Files& files, std::string directory, const SessionId& session);
    ~SessionFile();
    SessionFile(const SessionFile&) = delete;
    SessionFile& operator=(const SessionFile&) = delete;

    // Creates and locks the file with the session's next free number and makes its name durable. Requires !is_open().
    [[nodiscard]] IoResult<void> open_next(Instant now);
    // One write of a stretch of lines; returns how many bytes were taken.
    [[nodiscard]] IoResult<std::size_t> append(std::string_view text);
    // Cuts what lies behind the last whole line.
    [[nodiscard]] IoResult<void> cut_torn();
    [[nodiscard]] IoResult<void> sync();
    // Ends the lock with it.
    void close();

    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

    [[nodiscard]] std::uint64_t size() const { return size_; }

    [[nodiscard]] std::uint64_t torn_bytes() const { return size_ - whole_size_; }

    [[nodiscard]] Instant opened_at() const { return opened_at_; }

    // Of the current or last file.
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    [[nodiscard]] IoResult<void> find_last_number();
    [[nodiscard]] IoResult<bool> create_numbered();

    Files& files_;
    std::string directory_;
    std::string session_;  // as it stands in names
    std::string name_;
    bool knows_number_ = false;
    std::uint64_t number_ = 0;  // the last one taken
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t whole_size_ = 0;
    Instant opened_at_{};
};

}  // namespace longhold::sink
