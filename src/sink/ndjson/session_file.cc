// SPDX-License-Identifier: Apache-2.0
#include "session_file.h"

#include <longhold/base/invariant.h>

#include <algorithm>
#include <cerrno>

#include "names.h"

namespace longhold::sink {

SessionFile::SessionFile(Files& files, std::string directory, const SessionId& session)
    : files_(files), directory_(std::move(directory)), session_(session_in_name(session)) {}

SessionFile::~SessionFile() {
    close();
}

IoResult<void> SessionFile::find_last_number() {
    auto names = files_.list(directory_);
    if (!names) {
        return std::unexpected(names.error());
    }
    for (const FileName& name : sink_files(*names)) {
        if (name.session == session_) {
            number_ = std::max(number_, name.number);
        }
    }
    knows_number_ = true;
    return {};
}

// False when the number is taken, or when a repairing process holds the new file's lock for a moment: the number is
// then left unused, with an empty file.
IoResult<bool> SessionFile::create_numbered() {
    name_ = file_name(session_, ++number_);
    const std::string path = path_of(directory_, name_);
    auto descriptor = files_.create(path);
    if (!descriptor) {
        if (descriptor.error() == EEXIST) {
            return false;
        }
        --number_;
        return std::unexpected(descriptor.error());
    }
    auto locked = files_.lock(*descriptor);
    if (locked && !*locked) {
        files_.close(*descriptor);
        return false;
    }
    auto named = locked ? files_.sync_directory(directory_) : IoResult<void>{std::unexpected(locked.error())};
    if (!named) {
        // Nobody else writes to it, and it is empty: retries leave no trail of files.
        [[maybe_unused]] const auto removed = files_.remove(path);
        files_.close(*descriptor);
        return std::unexpected(named.error());
    }
    descriptor_ = *descriptor;
    return true;
}

IoResult<void> SessionFile::open_next(Instant now) {
    constexpr int attempts_max = 100;
    invariant(!is_open(), "a session has one current file");
    if (!knows_number_) {
        if (auto found = find_last_number(); !found) {
            return found;
        }
    }
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        auto created = create_numbered();
        if (!created) {
            return std::unexpected(created.error());
        }
        if (*created) {
            size_ = 0;
            whole_size_ = 0;
            opened_at_ = now;
            return {};
        }
    }
    return std::unexpected(EEXIST);
}

IoResult<std::size_t> SessionFile::append(std::string_view text) {
    auto count = files_.write(descriptor_, text);
    if (!count) {
        return count;
    }
    const std::size_t newline = text.substr(0, *count).rfind('\n');
    if (newline != std::string_view::npos) {
        whole_size_ = size_ + newline + 1;
    }
    size_ += *count;
    return count;
}

IoResult<void> SessionFile::cut_torn() {
    if (torn_bytes() == 0) {
        return {};
    }
    auto cut = files_.truncate(descriptor_, whole_size_);
    if (cut) {
        size_ = whole_size_;
    }
    return cut;
}

IoResult<void> SessionFile::sync() {
    return files_.sync(descriptor_);
}

void SessionFile::close() {
    if (is_open()) {
        files_.close(descriptor_);
        descriptor_ = -1;
    }
}

}  // namespace longhold::sink
