// SPDX-License-Identifier: Apache-2.0
// SequenceReader: the sequence value of a JSON message, at a JSON pointer (RFC 6901).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace longhold::upstream {

struct SequenceValue {
    std::string_view text;  // empty: the message has none; valid until the next read()
    bool is_text = false;   // it was a JSON string
};

// Thread-safety: none; one per I/O thread, shared by its connections.
class SequenceReader {
public:
    SequenceReader();
    ~SequenceReader();
    SequenceReader(const SequenceReader&) = delete;
    SequenceReader& operator=(const SequenceReader&) = delete;

    // Never fails: what is no JSON, or has no number or string there, has no sequence value.
    [[nodiscard]] SequenceValue read(std::string_view message, const std::string& pointer);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::upstream
