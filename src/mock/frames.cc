// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

namespace longhold::mock {
namespace {

constexpr std::uint16_t protocol_error = 1002;
constexpr std::uint16_t too_big = 1009;

std::uint64_t big_endian(std::span<const char> bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) {
        value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
}

void append_big_endian(std::string& out, std::uint64_t value, unsigned size) {
    for (unsigned i = size; i > 0; --i) {
        out += static_cast<char>(value >> (8 * (i - 1)));
    }
}

FrameStep breach(std::uint16_t code, std::string_view reason) {
    FrameStep step;
    step.kind = FrameStep::Kind::breach;
    step.code = code;
    step.reason = reason;
    return step;
}

bool is_known(unsigned opcode) {
    return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

// Checks what the first two bytes say; an empty reason is none.
std::string_view header_fault(unsigned first, unsigned second) {
    const unsigned opcode = first & 0x0fU;
    if ((first & 0x70U) != 0) {
        return "a reserved bit is set";
    }
    if (!is_known(opcode)) {
        return "the opcode is unknown";
    }
    if ((second & 0x80U) == 0) {
        return "a client's frame is not masked";
    }
    if (opcode >= 8 && (first & 0x80U) == 0) {
        return "a control frame is fragmented";
    }
    if (opcode >= 8 && (second & 0x7fU) > 125) {
        return "a control frame is longer than 125 bytes";
    }
    return {};
}

}  // namespace

FrameStep take_client_frame(std::span<char> bytes) {
    if (bytes.size() < 2) {
        return {};
    }
    const auto first = static_cast<unsigned char>(bytes[0]);
    const auto second = static_cast<unsigned char>(bytes[1]);
    if (const auto fault = header_fault(first, second); !fault.empty()) {
        return breach(protocol_error, fault);
    }
    std::uint64_t length = second & 0x7fU;
    const std::size_t length_size = length == 126 ? 2 : length == 127 ? 8 : 0;
    const std::size_t header = 2 + length_size + 4;
    if (bytes.size() < header) {
        return {};
    }
    if (length_size > 0) {
        length = big_endian(bytes.subspan(2, length_size));
        if (length <= (length_size == 2 ? 125U : 0xffffU)) {
            return breach(protocol_error, "a length is not in its shortest form");
        }
    }
    if (length > client_message_max) {
        return breach(too_big, "a frame is larger than 1 MiB");
    }
    const auto size = static_cast<std::size_t>(length);
    if (bytes.size() < header + size) {
        return {};
    }
    const auto payload = bytes.subspan(header, size);
    for (std::size_t i = 0; i < size; ++i) {
        payload[i] = static_cast<char>(payload[i] ^ bytes[header - 4 + i % 4]);
    }
    FrameStep step;
    step.kind = FrameStep::Kind::frame;
    step.used = header + size;
    step.opcode = static_cast<Opcode>(first & 0x0fU);
    step.final = (first & 0x80U) != 0;
    step.payload = std::string_view{payload.data(), size};
    return step;
}

std::string_view close_payload_fault(std::string_view payload) {
    if (payload.empty()) {
        return {};
    }
    if (payload.size() == 1) {
        return "a close frame holds half a code";
    }
    const auto code = big_endian(std::span{payload.data(), 2});
    const bool defined = (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006);
    if (!defined && (code < 3000 || code > 4999)) {
        return "a close code may not be sent";
    }
    return is_utf8(payload.substr(2)) ? std::string_view{} : std::string_view{"a close reason is not UTF-8"};
}

bool is_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto lead = static_cast<unsigned char>(text[at]);
        if (lead < 0x80) {
            ++at;
            continue;
        }
        const std::size_t more = lead >= 0xc2 && lead <= 0xdf ? 1 : lead >= 0xe0 && lead <= 0xef ? 2 : 3;
        if (lead < 0xc2 || lead > 0xf4 || text.size() - at <= more) {
            return false;
        }
        std::uint32_t point = lead & (0x3fU >> more);
        for (std::size_t i = 1; i <= more; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            if ((next & 0xc0U) != 0x80) {
                return false;
            }
            point = point << 6U | (next & 0x3fU);
        }
        const bool is_short = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
        if (is_short || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
            return false;
        }
        at += more + 1;
    }
    return true;
}

void append_header(std::string& out, Opcode opcode, std::size_t payload_size) {
    out += static_cast<char>(0x80U | static_cast<unsigned>(opcode));
    if (payload_size <= 125) {
        out += static_cast<char>(payload_size);
    } else if (payload_size <= 0xffff) {
        out += static_cast<char>(126);
        append_big_endian(out, payload_size, 2);
    } else {
        out += static_cast<char>(127);
        append_big_endian(out, payload_size, 8);
    }
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
    append_header(out, opcode, payload.size());
    out += payload;
}

void append_close(std::string& out, std::uint16_t code, std::string_view reason) {
    append_header(out, Opcode::close, reason.size() + 2);
    append_big_endian(out, code, 2);
    out += reason;
}

}  // namespace longhold::mock
