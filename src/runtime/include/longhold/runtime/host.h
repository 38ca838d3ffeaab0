// SPDX-License-Identifier: Apache-2.0
// Facts about this host and process, and the limits that it may raise by itself.
//
// Thread-safety: all may be called from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace longhold::runtime {

// The kernel's node name; "localhost" when it has none.
[[nodiscard]] std::string host_name();

[[nodiscard]] std::int64_t process_id();

// Path of the program that this process runs; empty when the kernel does not tell.
[[nodiscard]] std::string own_program();

[[nodiscard]] bool is_terminal(int descriptor);

// How many descriptors the process may open.
struct DescriptorLimit {
    std::uint64_t before = 0;
    std::uint64_t now = 0;  // equal to `before` when the kernel refused
};

// Raises the soft limit to the hard one.
DescriptorLimit raise_descriptor_limit();

}  // namespace longhold::runtime
