// SPDX-License-Identifier: Apache-2.0
// RecordParser: one NDJSON line back into a record. The only user of simdjson in this layer.
#pragma once

#include <longhold/sink/ndjson/reader.h>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace longhold::sink {

// Thread-safety: none.
class RecordParser {
public:
    RecordParser();
    ~RecordParser();
    RecordParser(const RecordParser&) = delete;
    RecordParser& operator=(const RecordParser&) = delete;

    // Fills all of `record` but file and line. Requires LineReader::padding readable bytes behind `line`. Members that
    // it does not know are skipped. Errors: what is wrong, for people; `record` is then unspecified.
    [[nodiscard]] std::expected<void, std::string> parse(std::string_view line, ReadRecord& record);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::sink
