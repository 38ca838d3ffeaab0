// SPDX-License-Identifier: Apache-2.0
// The grammar of HTTP/1 heads (RFC 9110, 9112) as far as the handshake reads and writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longhold::upstream {

[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);

// Without spaces and tabs at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

[[nodiscard]] bool is_token(std::string_view text);

// Whether `text` has no control character but the tab.
[[nodiscard]] bool is_field_value(std::string_view text);

// At most 64 bytes of `text` in quotes, for an error message: what is not printable ASCII becomes \xNN.
[[nodiscard]] std::string printable(std::string_view text);

// The length of the head that `text` begins with, its empty line included; npos when it has no end yet. Looks from
// `from` on.
[[nodiscard]] std::size_t head_end(std::string_view text, std::size_t from);

// The content of a chunked body, as far as it is there.
[[nodiscard]] std::string without_chunks(std::string_view body);

// Whether the last chunk of a chunked body is there.
[[nodiscard]] bool chunks_ended(std::string_view body);

}  // namespace longhold::upstream
