// SPDX-License-Identifier: Apache-2.0
// Names of the sink's files: `<session>.<number>.ndjson`, the number in at least six digits.
//
// Of a session id only letters, digits, '.', '_' and '-' stay as they are (a leading '.' does not); other bytes become
// %XX. An id that is too long for a file name is cut and ends in '~' and its hash.
#pragma once

#include <longhold/base/ids.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sink {

struct FileName {
    std::string session;  // as it stands in the file's name
    std::uint64_t number = 0;
    std::string text;  // the whole name

    friend auto operator<=>(const FileName&, const FileName&) = default;
};

[[nodiscard]] std::string session_in_name(const SessionId& session);
[[nodiscard]] std::string file_name(std::string_view session_in_name, std::uint64_t number);
// Nothing for a name that the sink does not write.
[[nodiscard]] std::optional<FileName> parse_file_name(std::string_view name);
// Those of `names` that the sink writes, by session and number.
[[nodiscard]] std::vector<FileName> sink_files(const std::vector<std::string>& names);
// `directory/name`.
[[nodiscard]] std::string path_of(std::string_view directory, std::string_view name);

}  // namespace longhold::sink
