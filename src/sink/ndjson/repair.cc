// SPDX-License-Identifier: Apache-2.0
#include "repair.h"

#include <algorithm>
#include <cerrno>

#include "names.h"

namespace longhold::sink {
namespace {

// Where the text behind the last newline of the first `size` bytes begins.
IoResult<std::uint64_t> tail_begin(Files& files, int descriptor, std::uint64_t size) {
    constexpr std::uint64_t block_size = 64 * 1024;
    std::string block;
    std::uint64_t end = size;
    while (end > 0) {
        const std::uint64_t begin = end - std::min(end, block_size);
        block.resize(end - begin);
        std::size_t got = 0;
        while (got < block.size()) {
            auto count = files.read(descriptor, block.data() + got, block.size() - got, begin + got);
            if (!count) {
                return std::unexpected(count.error());
            }
            if (*count == 0) {
                return std::unexpected(EIO);
            }
            got += *count;
        }
        const std::size_t newline = block.rfind('\n');
        if (newline != std::string::npos) {
            return begin + newline + 1;
        }
        end = begin;
    }
    return 0;
}

// Returns how many bytes were cut. Requires the file's lock.
IoResult<std::uint64_t> cut_tail(Files& files, int descriptor) {
    auto size = files.size(descriptor);
    if (!size) {
        return size;
    }
    auto begin = tail_begin(files, descriptor, *size);
    if (!begin || *begin == *size) {
        return begin ? IoResult<std::uint64_t>{0} : begin;
    }
    if (auto cut = files.truncate(descriptor, *begin); !cut) {
        return std::unexpected(cut.error());
    }
    if (auto synced = files.sync(descriptor); !synced) {
        return std::unexpected(synced.error());
    }
    return *size - *begin;
}

void repair_file(Files& files, const std::string& directory, const std::string& name, RepairReport& report) {
    auto descriptor = files.open_to_repair(path_of(directory, name));
    if (!descriptor) {
        if (descriptor.error() != ENOENT) {
            report.failed.push_back(name + ": " + error_text(descriptor.error()));
        }
        return;
    }
    auto locked = files.lock(*descriptor);
    if (!locked) {
        report.failed.push_back(name + ": " + error_text(locked.error()));
    } else if (!*locked) {
        ++report.locked;
    } else if (auto cut = cut_tail(files, *descriptor); !cut) {
        report.failed.push_back(name + ": " + error_text(cut.error()));
    } else if (*cut > 0) {
        report.repaired.push_back({name, *cut});
    }
    files.close(*descriptor);
}

}  // namespace

Result<RepairReport> repair_torn_lines(Files& files, const std::string& directory) {
    auto names = files.list(directory);
    if (!names) {
        return std::unexpected(
            Error{Errc::unavailable, "cannot list the directory '" + directory + "': " + error_text(names.error())});
    }
    RepairReport report;
    for (const FileName& name : sink_files(*names)) {
        repair_file(files, directory, name.text, report);
    }
    return report;
}

}  // namespace longhold::sink
