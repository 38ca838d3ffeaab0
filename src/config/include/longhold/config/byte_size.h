// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: "64MiB", "500kB", "4096".
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace longhold::config {

struct ByteSize {
    std::uint64_t bytes = 0;

    friend auto operator<=>(const ByteSize&, const ByteSize&) = default;
};

inline constexpr std::uint64_t kibibyte = 1024;
inline constexpr std::uint64_t mebibyte = 1024 * kibibyte;

// Reads a whole number with B, kB, MB, GB (powers of 1,000), KiB, MiB, GiB (powers of 1,024) or no unit (bytes).
// Errors: a sentence that says what is wrong.
[[nodiscard]] std::expected<ByteSize, std::string> parse_byte_size(std::string_view text);

// Writes the shortest exact form in powers of 1,024 that parse_byte_size() reads back.
[[nodiscard]] std::string format_byte_size(ByteSize size);

}  // namespace longhold::config
