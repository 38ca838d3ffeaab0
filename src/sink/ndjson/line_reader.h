// SPDX-License-Identifier: Apache-2.0
// LineReader: the whole lines of one stretch of a file, in order, in bounded reads.
#pragma once

#include <longhold/sink/ndjson/files.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::sink {

// Thread-safety: none. `files` and the descriptor outlive it.
class LineReader {
public:
    // Lines that lie in [from, to). With `from` above 0 the first, perhaps partial, line is left out.
    LineReader(Files& files, int descriptor, std::uint64_t from, std::uint64_t to);

    // The next line without its newline, valid until the next call and followed by at least `padding` readable bytes.
    // Nothing at the end; text behind the last newline is no line.
    [[nodiscard]] IoResult<std::optional<std::string_view>> next();

    // At the end: bytes behind the last newline.
    [[nodiscard]] std::uint64_t torn_bytes() const { return end_ - begin_; }

    static constexpr std::size_t padding = 64;

private:
    [[nodiscard]] IoResult<bool> fill();

    Files& files_;
    int descriptor_;
    std::uint64_t at_;
    std::uint64_t to_;
    bool skip_line_;
    std::string buffer_;
    std::size_t begin_ = 0;  // what of buffer_ is read and not yet given out: [begin_, end_)
    std::size_t end_ = 0;
    std::size_t searched_ = 0;  // no newline before it
};

}  // namespace longhold::sink
