// SPDX-License-Identifier: Apache-2.0
// Faults: how the mock upstream misbehaves towards the sockets of an id, as values and as text.
//
// As text a fault is a name with an optional value, and modifiers that belong to the fault before them:
// "close=1001,times=2,after=10". All names and their meaning: src/mock/README.md.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhold::mock {

enum class FaultKind : std::uint8_t {
    // Hold until they are deleted.
    mute,           // reads, sends nothing and answers nothing
    half_open,      // neither reads nor writes; the socket stays
    refuse_second,  // 409 on upgrade while a socket of the id lives
    binary,         // messages are binary
    slow,           // value: bytes per second
    one_byte,       // each byte is written alone
    // Happen `times` times.
    status,            // value: HTTP status that answers an upgrade
    close,             // value: code of the close frame sent
    drop,              // resets the TCP connection
    garbage,           // value: a Garbage; sends that breach of the protocol
    oversize,          // value: bytes of one message
    restart_sequence,  // value: a Restart; numbering begins at 1
};

enum class Garbage : std::uint8_t { reserved_bit, opcode, masked, text, long_ping };

// What a restart of the numbering does with live sockets: they go on with the new stream once they were sent
// all of the old one, or they are reset.
enum class Restart : std::uint8_t { in_place, drop };

struct Fault {
    FaultKind kind = FaultKind::mute;
    std::uint64_t value = 0;
    std::uint64_t after = 0;        // messages that a socket is sent before the fault strikes it
    std::uint64_t times = 1;        // how often it strikes; 0 is for ever. Only for those that happen
    std::uint64_t retry_after = 0;  // seconds in the Retry-After header of `status`; 0 sends none

    friend bool operator==(const Fault&, const Fault&) = default;
};

// Whether the fault holds until it is deleted, rather than happening a number of times.
[[nodiscard]] bool is_lasting(FaultKind kind);
[[nodiscard]] std::string_view text(FaultKind kind);

// Faults for every id that `glob` matches: `*` is any text, `?` any one character.
struct FaultRule {
    std::string glob;
    std::vector<Fault> faults;
};

using FaultWords = std::vector<std::pair<std::string, std::string>>;

// Reads names with their values. Errors: a sentence that names the word and what is allowed.
[[nodiscard]] std::expected<std::vector<Fault>, std::string> parse_faults(const FaultWords& words);
// Reads "id-glob:name=value,…"; the last colon divides.
[[nodiscard]] std::expected<FaultRule, std::string> parse_fault_rule(std::string_view rule);
[[nodiscard]] bool matches(std::string_view glob, std::string_view id);

}  // namespace longhold::mock
