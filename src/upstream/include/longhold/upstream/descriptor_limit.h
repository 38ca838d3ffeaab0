// SPDX-License-Identifier: Apache-2.0
// How many sockets the process may have open.
#pragma once

#include <cstdint>

namespace longhold::upstream {

// Raises the soft limit of open descriptors to the hard one; returns the limit that holds now. Called once at start.
std::uint64_t raise_descriptor_limit();

}  // namespace longhold::upstream
