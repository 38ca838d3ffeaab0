// SPDX-License-Identifier: Apache-2.0
#include "resume.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "line_reader.h"
#include "names.h"
#include "record_json.h"

namespace longhold::sink {
namespace {

// The furthest record of a connection that says what `value` is.
struct Known {
    Epoch epoch;
    std::uint64_t ordinal = 0;
    std::uint32_t stream = 0;
    std::string value;
};

struct Progress {
    core::Cursor last;
    std::optional<Known> sequence;  // from the furthest record with a sequence
    std::optional<Known> opening;   // from the furthest record that opened a stream
};

// Whether this state record is the first of its stream in its epoch. Where it names a resume point in that stream, the
// stream goes on from there.
bool opens_stream(const ReadRecord& record) {
    return record.kind == RecordKind::state && (record.has_resume || record.reason == "sequence_restart");
}

void take_known(std::optional<Known>& known, const ReadRecord& record, const std::string& value) {
    if (!known || std::tie(record.epoch, record.ordinal) > std::tie(known->epoch, known->ordinal)) {
        known = Known{record.epoch, record.ordinal, record.stream, value};
    }
}

void take(Progress& progress, const ReadRecord& record) {
    if (std::tie(record.epoch, record.ordinal) > std::tie(progress.last.epoch, progress.last.ordinal)) {
        progress.last.epoch = record.epoch;
        progress.last.ordinal = record.ordinal;
        progress.last.stream = record.stream;
    }
    if (!record.seq.empty()) {
        take_known(progress.sequence, record, record.seq);
    }
    if (opens_stream(record)) {
        const bool goes_on = record.resume && record.resume->stream == record.stream;
        take_known(progress.opening, record, goes_on ? record.resume->value : std::string{});
    }
}

std::optional<core::Cursor> cursor_of(const Progress& progress) {
    core::Cursor cursor = progress.last;
    for (const auto* known : {&progress.sequence, &progress.opening}) {
        if (*known && (*known)->epoch == cursor.epoch && (*known)->stream == cursor.stream) {
            cursor.value = (*known)->value;
            return cursor;
        }
    }
    return std::nullopt;
}

class Scan {
public:
    Scan(Files& files, const std::string& directory) : files_(files), directory_(directory) {}

    // Takes in at most `bytes_max` from the end of one file and returns how many that were.
    [[nodiscard]] Result<std::uint64_t> file(const std::string& name, std::uint64_t bytes_max) {
        const std::string path = path_of(directory_, name);
        auto descriptor = files_.open_to_read(path);
        if (!descriptor) {
            return unreadable(path, descriptor.error());
        }
        auto taken = open_file(*descriptor, bytes_max);
        files_.close(*descriptor);
        if (!taken) {
            return unreadable(path, taken.error());
        }
        return *taken;
    }

    [[nodiscard]] ResumeScan result() {
        for (const auto& [connection, progress] : progress_) {
            if (auto cursor = cursor_of(progress)) {
                result_.cursors.push_back({connection, *std::move(cursor)});
            }
        }
        return std::move(result_);
    }

    void leave_rest_out() { result_.whole = false; }

private:
    static std::unexpected<Error> unreadable(const std::string& path, int error) {
        return std::unexpected(
            Error{Errc::unavailable, "cannot make '" + path + "' durable and read it: " + error_text(error)});
    }

    IoResult<std::uint64_t> open_file(int descriptor, std::uint64_t bytes_max) {
        // The size first: what a writer adds meanwhile may not be durable yet.
        auto size = files_.size(descriptor);
        if (!size) {
            return size;
        }
        if (auto synced = files_.sync(descriptor); !synced) {
            return std::unexpected(synced.error());
        }
        const std::uint64_t from = *size - std::min(*size, bytes_max);
        if (from > 0) {
            leave_rest_out();
        }
        LineReader lines{files_, descriptor, from, *size};
        while (true) {
            auto line = lines.next();
            if (!line) {
                return std::unexpected(line.error());
            }
            if (!*line) {
                return *size - from;
            }
            ++result_.lines;
            if (parser_.parse(**line, record_)) {
                take(progress_[record_.connection], record_);
            } else {
                ++result_.bad_lines;
            }
        }
    }

    Files& files_;
    const std::string& directory_;
    RecordParser parser_;
    ReadRecord record_;
    std::map<ConnectionId, Progress> progress_;
    ResumeScan result_;
};

}  // namespace

Result<ResumeScan> scan_resume_points(Files& files, const std::string& directory, const SessionId& session,
                                      std::uint64_t bytes_max) {
    auto names = files.list(directory);
    if (!names) {
        return std::unexpected(
            Error{Errc::unavailable, "cannot list the directory '" + directory + "': " + error_text(names.error())});
    }
    auto found = sink_files(*names);
    const std::string wanted = session_in_name(session);
    std::erase_if(found, [&](const FileName& name) { return name.session != wanted; });
    if (found.empty()) {
        return ResumeScan{};
    }
    if (auto synced = files.sync_directory(directory); !synced) {
        return std::unexpected(Error{
            Errc::unavailable, "cannot make the directory '" + directory + "' durable: " + error_text(synced.error())});
    }
    Scan scan{files, directory};
    for (const FileName& name : std::views::reverse(found)) {
        if (bytes_max == 0) {
            scan.leave_rest_out();
            break;
        }
        auto taken = scan.file(name.text, bytes_max);
        if (!taken) {
            return std::unexpected(taken.error());
        }
        bytes_max -= *taken;
    }
    return scan.result();
}

}  // namespace longhold::sink
