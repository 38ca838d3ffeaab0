// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 (RFC 2104, FIPS 180-4) of texts. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace longhold::runtime {

// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string hmac_sha256_hex(std::string_view key, std::string_view text);

// Whether two texts are equal, in a time that depends on their lengths alone.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace longhold::runtime
