// SPDX-License-Identifier: Apache-2.0
// Any bytes as a line: the parser answers, and what it takes as a record keeps its own rules.
#include <longhold/base/invariant.h>
#include <longhold/sink/ndjson/encoder.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "line_reader.h"
#include "record_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace longhold;
    static sink::RecordParser parser;
    std::string line{reinterpret_cast<const char*>(data), size};
    line.append(sink::LineReader::padding, '\0');
    sink::ReadRecord record;
    if (parser.parse(std::string_view{line}.substr(0, size), record)) {
        invariant(record.seq.empty() || record.seq_is_text || sink::is_json_number(record.seq),
                  "a sequence that is no string is a number");
        invariant(!record.resume || record.has_resume, "a resume point is only there when the record has one");
    }
    return 0;
}
