// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/upstream/frame_decoder.h>
#include <longhold/upstream/frame_encoder.h>

#include <array>
#include <cstring>

namespace longhold::upstream {
namespace {

constexpr std::size_t close_reason_max = control_payload_max - 2;

// `size` bytes at `bytes` XOR the key, eight at a time.
void mask(char* bytes, std::size_t size, const std::array<char, 4>& key) {
    std::array<char, 8> doubled{};
    std::memcpy(doubled.data(), key.data(), 4);
    std::memcpy(doubled.data() + 4, key.data(), 4);
    std::uint64_t word_key = 0;
    std::memcpy(&word_key, doubled.data(), 8);
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, 8);
        word ^= word_key;
        std::memcpy(bytes + at, &word, 8);
    }
    for (; at < size; ++at) {
        bytes[at] = static_cast<char>(bytes[at] ^ key[at % 4]);
    }
}

void append_length(std::string& out, std::size_t size) {
    constexpr unsigned masked = 0x80;
    if (size < 126) {
        out.push_back(static_cast<char>(masked | size));
        return;
    }
    const int bytes = size < 65'536 ? 2 : 8;
    out.push_back(static_cast<char>(masked | (bytes == 2 ? 126U : 127U)));
    for (int i = bytes - 1; i >= 0; --i) {
        out.push_back(static_cast<char>(std::uint64_t{size} >> static_cast<unsigned>(8 * i)));
    }
}

}  // namespace

void append_frame(std::string& out, FrameType type, std::string_view payload, std::uint32_t mask_key) {
    const bool control = type != FrameType::text && type != FrameType::binary;
    invariant(!control || payload.size() <= control_payload_max, "a control frame's payload fits into one");
    std::array<char, 4> key{};
    std::memcpy(key.data(), &mask_key, 4);
    out.reserve(out.size() + payload.size() + frame_overhead_max);
    out.push_back(static_cast<char>(0x80U | static_cast<unsigned>(type)));
    append_length(out, payload.size());
    out.append(key.data(), key.size());
    const std::size_t start = out.size();
    out.append(payload);
    mask(out.data() + start, payload.size(), key);
}

void append_close_frame(std::string& out, std::uint16_t code, std::string_view reason, std::uint32_t mask_key) {
    std::string payload;
    if (code != close_code_absent) {
        invariant(close_code_valid(code), "only close codes that the protocol allows are sent");
        payload.push_back(static_cast<char>(code >> 8U));
        payload.push_back(static_cast<char>(code & 0xffU));
        std::size_t size = reason.size();
        if (size > close_reason_max) {
            size = close_reason_max;
            while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0U) == 0x80U) {
                --size;
            }
        }
        payload.append(reason.substr(0, size));
    }
    append_frame(out, FrameType::close, payload, mask_key);
}

}  // namespace longhold::upstream
