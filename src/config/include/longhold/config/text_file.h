// SPDX-License-Identifier: Apache-2.0
// Reading a small text file whole.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>

namespace longhold::config {

// Reads the file of that name. Errors: the reason in words, without the name. Handed in wherever files are read.
using FileReader = std::function<std::expected<std::string, std::string>(const std::string& path)>;

inline constexpr std::size_t text_file_bytes_max = 64UL * 1024 * 1024;

// The FileReader of the real file system. Errors: not there, not readable, a directory, larger than
// text_file_bytes_max.
[[nodiscard]] std::expected<std::string, std::string> read_text_file(const std::string& path);

// The same, but for regular files only: never waits for a pipe's writer. For what specs refer to, which is read on
// threads that serve others.
[[nodiscard]] std::expected<std::string, std::string> read_regular_file(const std::string& path);

}  // namespace longhold::config
