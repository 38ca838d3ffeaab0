// SPDX-License-Identifier: Apache-2.0
// UTF-8 validation: of a whole text at once, and of one that arrives in pieces.
#pragma once

#include <cstdint>
#include <string_view>

namespace longhold::upstream {

[[nodiscard]] bool valid_utf8(std::string_view text);

// Validates a text that arrives in pieces, which may split a character anywhere. A value of four bytes.
class Utf8Validator {
public:
    // Takes the next piece. False as soon as no continuation could make the text valid; the validator is then of no
    // use.
    [[nodiscard]] bool feed(std::string_view piece);

    // Whether the text may end here.
    [[nodiscard]] bool complete() const { return needed_ == 0; }

private:
    bool step(unsigned char byte);

    std::uint8_t needed_ = 0;     // continuation bytes still to come
    std::uint8_t lowest_ = 0x80;  // range of the next one
    std::uint8_t highest_ = 0xbf;
};

}  // namespace longhold::upstream
