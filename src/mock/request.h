// SPDX-License-Identifier: Apache-2.0
// HTTP requests as the mock upstream needs them: a head is taken apart, an answer is made.
#pragma once

#include <longhold/mock/faults.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhold::mock {

inline constexpr std::size_t head_bytes_max = std::size_t{16} << 10U;

struct Target {
    std::string path;  // decoded
    FaultWords query;  // decoded, in order

    // The first value of that name.
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
};

struct Request {
    std::string method;
    Target target;
    std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

    [[nodiscard]] std::string_view header(std::string_view name) const;
    // Whether a header that is a list of tokens has that one, whatever the case.
    [[nodiscard]] bool has_token(std::string_view name, std::string_view token) const;
};

struct Refusal {
    int status = 0;
    std::string reason;
};

// `head` is everything before the empty line.
[[nodiscard]] std::expected<Request, Refusal> parse_request(std::string_view head);
[[nodiscard]] std::expected<Target, Refusal> parse_target(std::string_view text);

// What Sec-WebSocket-Accept answers to that key (RFC 6455, section 4.2.2); nothing when it is no key.
[[nodiscard]] std::optional<std::string> accept_key(std::string_view key);

// A whole answer, after which the connection ends. `more_headers` are whole lines.
[[nodiscard]] std::string http_answer(int status, std::string_view content_type, std::string_view body,
                                      std::string_view more_headers = {});

}  // namespace longhold::mock
