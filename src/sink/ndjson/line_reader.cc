// SPDX-License-Identifier: Apache-2.0
#include "line_reader.h"

#include <algorithm>
#include <cstring>

namespace longhold::sink {
namespace {

constexpr std::size_t read_size = 256 * 1024;

}  // namespace

LineReader::LineReader(Files& files, int descriptor, std::uint64_t from, std::uint64_t to)
    : files_(files),
      descriptor_(descriptor),
      at_(from == 0 ? 0 : from - 1),  // a newline just before `from` means that no line is partial
      to_(to),
      skip_line_(from > 0) {}

IoResult<std::optional<std::string_view>> LineReader::next() {
    while (true) {
        const std::size_t newline = std::string_view{buffer_}.substr(0, end_).find('\n', searched_);
        if (newline != std::string_view::npos) {
            const std::string_view line = std::string_view{buffer_}.substr(begin_, newline - begin_);
            begin_ = newline + 1;
            searched_ = begin_;
            if (!skip_line_) {
                return line;
            }
            skip_line_ = false;
            continue;
        }
        searched_ = end_;
        auto more = fill();
        if (!more) {
            return std::unexpected(more.error());
        }
        if (!*more) {
            return std::nullopt;
        }
    }
}

IoResult<bool> LineReader::fill() {
    if (at_ >= to_) {
        return false;
    }
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        searched_ -= begin_;
        begin_ = 0;
    }
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(read_size, to_ - at_));
    if (buffer_.size() < end_ + wanted + padding) {
        buffer_.resize(std::max(end_ + wanted + padding, buffer_.size() * 2));
    }
    auto count = files_.read(descriptor_, buffer_.data() + end_, wanted, at_);
    if (!count) {
        return std::unexpected(count.error());
    }
    if (*count == 0) {  // the file was cut meanwhile
        to_ = at_;
        return false;
    }
    at_ += *count;
    end_ += *count;
    return true;
}

}  // namespace longhold::sink
