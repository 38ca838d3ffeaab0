// SPDX-License-Identifier: Apache-2.0
// Numbers that nobody can foresee: seeds for Random, and ids that are never drawn twice.
//
// Thread-safety: both may be called from any thread. Both read the kernel's random source, which waits until it is
// seeded (early boot only).
#pragma once

#include <cstdint>
#include <string>

namespace longhold::runtime {

[[nodiscard]] std::uint64_t random_seed();

// 128 random bits as 26 characters of 0-9 and a-z without i, l, o and u: for session ids and attempt tokens.
[[nodiscard]] std::string fresh_id();

}  // namespace longhold::runtime
