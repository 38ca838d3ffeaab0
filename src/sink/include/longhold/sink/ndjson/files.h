// SPDX-License-Identifier: Apache-2.0
// Files: the file operations of the NDJSON sink, so that tests can make each of them fail.
//
// One call is one system call, short writes and all; only EINTR is dealt with here. Thread-safety: all members may be
// called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sink {

// The error is an errno value.
template <class T>
using IoResult = std::expected<T, int>;

class Files {
public:
    virtual ~Files() = default;

    // A new file, opened to append. EEXIST where the name is taken.
    [[nodiscard]] virtual IoResult<int> create(const std::string& path) = 0;
    // An existing regular file; never follows a symbolic link. EINVAL on anything but a regular file.
    [[nodiscard]] virtual IoResult<int> open_to_read(const std::string& path) = 0;
    [[nodiscard]] virtual IoResult<int> open_to_repair(const std::string& path) = 0;

    // Takes the file's exclusive lock without waiting; false: somebody else holds it. It ends with the descriptor.
    [[nodiscard]] virtual IoResult<bool> lock(int descriptor) = 0;
    // Returns how many bytes were taken; at least 1 of a text that is not empty.
    [[nodiscard]] virtual IoResult<std::size_t> write(int descriptor, std::string_view text) = 0;
    // Reads at `offset`; 0 at the end.
    [[nodiscard]] virtual IoResult<std::size_t> read(int descriptor, char* out, std::size_t size,
                                                     std::uint64_t offset) = 0;
    [[nodiscard]] virtual IoResult<std::uint64_t> size(int descriptor) = 0;
    // fdatasync().
    [[nodiscard]] virtual IoResult<void> sync(int descriptor) = 0;
    [[nodiscard]] virtual IoResult<void> truncate(int descriptor, std::uint64_t size) = 0;
    virtual void close(int descriptor) = 0;

    [[nodiscard]] virtual IoResult<void> remove(const std::string& path) = 0;
    // Names in a directory, in no order, without "." and "..".
    [[nodiscard]] virtual IoResult<std::vector<std::string>> list(const std::string& directory) = 0;
    // Makes names that were created in the directory durable.
    [[nodiscard]] virtual IoResult<void> sync_directory(const std::string& directory) = 0;
    // Creates one directory; its parent must exist.
    [[nodiscard]] virtual IoResult<void> make_directory(const std::string& directory) = 0;
    // Whether this process may list the directory and create files in it. ENOTDIR when it is something else.
    [[nodiscard]] virtual IoResult<void> check_directory(const std::string& directory) = 0;
};

// The kernel's. Lives as long as the process.
[[nodiscard]] Files& system_files();

// An errno value for people, as "No space left on device".
[[nodiscard]] std::string error_text(int error);

}  // namespace longhold::sink
