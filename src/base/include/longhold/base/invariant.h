// SPDX-License-Identifier: Apache-2.0
// invariant(): stops the process when a claim that only a bug can break does not hold. On in every
// build.
//
// Never for input from outside: that gets a Result. Safe to call from any thread.
#pragma once

#include <source_location>
#include <string_view>

namespace longhold {

// Prints place and claim to stderr and aborts.
[[noreturn]] void invariant_broken(std::string_view claim, const std::source_location& where) noexcept;

inline void invariant(bool holds, std::string_view claim,
                      const std::source_location& where = std::source_location::current()) noexcept {
    if (!holds) [[unlikely]] {
        invariant_broken(claim, where);
    }
}

}  // namespace longhold
