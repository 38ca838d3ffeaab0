// SPDX-License-Identifier: Apache-2.0
// Listen addresses as people write them: "127.0.0.1:8470", "[::1]:8470", "localhost:0".
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace longhold::runtime {

struct HostPort {
    std::string host;  // without brackets
    std::uint16_t port = 0;

    friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Splits; does not look whether the host exists. Errors: a sentence that names `text` and what to write.
[[nodiscard]] std::expected<HostPort, std::string> parse_host_port(std::string_view text);

}  // namespace longhold::runtime
