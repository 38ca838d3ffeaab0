// SPDX-License-Identifier: Apache-2.0
#include "printable.h"

#include <longhold/upstream/utf8.h>

#include <array>

namespace longhold::app {
namespace {

// The first byte of U+0080 to U+00BF, of which those below U+00A0 are control characters.
constexpr unsigned char latin_lead = 0xc2;

void append_escaped(std::string& out, unsigned char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += "\\x";
    out += digits[byte >> 4U];
    out += digits[byte & 0xfU];
}

}  // namespace

std::string printable(std::string_view text) {
    const bool utf8 = upstream::valid_utf8(text);
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == latin_lead && utf8 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            append_escaped(out, byte);
            append_escaped(out, static_cast<unsigned char>(text[++i]));
        } else if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7f) || (byte >= 0x80 && utf8)) {
            out += text[i];
        } else {
            append_escaped(out, byte);
        }
    }
    return out;
}

}  // namespace longhold::app
