// SPDX-License-Identifier: Apache-2.0
#include <longhold/telemetry/valid_utf8.h>

#include <cstddef>
#include <cstdint>

namespace longhold::telemetry {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// The length of the valid sequence that starts at `at`; 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
    const unsigned first = byte_at(text, at);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    if (length == 0 || at + length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, at + i) & 0xc0U) != 0x80U) {
            return 0;
        }
    }
    const unsigned second = byte_at(text, at + 1);
    const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second >= 0xa0;
    const bool too_high = first == 0xf4 && second >= 0x90;
    return too_long || surrogate || too_high ? 0 : length;
}

}  // namespace

std::string to_valid_utf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = sequence_length(text, at);
        if (length == 0) {
            valid.append("\xef\xbf\xbd");
            ++at;
        } else {
            valid.append(text.substr(at, length));
            at += length;
        }
    }
    return valid;
}

}  // namespace longhold::telemetry
