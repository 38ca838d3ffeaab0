// SPDX-License-Identifier: Apache-2.0
// Stable 64-bit hashing: the same text gives the same number in every process, build and machine.
//
// Placement and index buckets rest on it, so the function can never change for an existing fleet.
// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) with the finalizer of MurmurHash3, which
// spreads its weak low bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace longhold {

constexpr std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0) {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    hash ^= hash >> 33U;
    hash *= 0xff51afd7ed558ccdULL;
    hash ^= hash >> 33U;
    hash *= 0xc4ceb9fe1a85ec53ULL;
    hash ^= hash >> 33U;
    return hash;
}

}  // namespace longhold
