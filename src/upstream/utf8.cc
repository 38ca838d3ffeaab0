// SPDX-License-Identifier: Apache-2.0
#include <longhold/upstream/utf8.h>
#include <simdjson.h>

#include <cstddef>

namespace longhold::upstream {
namespace {

// How many bytes at the end of `text` begin a character that does not end in it.
std::size_t open_tail(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xc0U) == 0x80U) {
            continue;
        }
        const std::size_t length = byte >= 0xf0U ? 4 : byte >= 0xe0U ? 3 : byte >= 0xc0U ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

}  // namespace

bool valid_utf8(std::string_view text) {
    return simdjson::validate_utf8(text.data(), text.size());
}

bool Utf8Validator::feed(std::string_view piece) {
    while (needed_ != 0 && !piece.empty()) {
        if (!step(static_cast<unsigned char>(piece.front()))) {
            return false;
        }
        piece.remove_prefix(1);
    }
    const std::size_t tail = open_tail(piece);
    if (!valid_utf8(piece.substr(0, piece.size() - tail))) {
        return false;
    }
    for (const char byte : piece.substr(piece.size() - tail)) {
        if (!step(static_cast<unsigned char>(byte))) {
            return false;
        }
    }
    return true;
}

// Unicode 15, table 3-7: well-formed byte sequences.
bool Utf8Validator::step(unsigned char byte) {
    if (needed_ != 0) {
        if (byte < lowest_ || byte > highest_) {
            return false;
        }
        --needed_;
        lowest_ = 0x80;
        highest_ = 0xbf;
        return true;
    }
    if (byte < 0x80U) {
        return true;
    }
    if (byte < 0xc2U || byte > 0xf4U) {
        return false;
    }
    needed_ = byte < 0xe0U ? 1 : byte < 0xf0U ? 2 : 3;
    lowest_ = byte == 0xe0U ? 0xa0 : byte == 0xf0U ? 0x90 : 0x80;
    highest_ = byte == 0xedU ? 0x9f : byte == 0xf4U ? 0x8f : 0xbf;
    return true;
}

}  // namespace longhold::upstream
