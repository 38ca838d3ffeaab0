// SPDX-License-Identifier: Apache-2.0
// The parts of rows that stores keep as JSON text: labels and the entries of a cursor page.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/store/store.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::store {

// Whether every text is UTF-8, and the id is not empty.
[[nodiscard]] bool storable(const PutConnection& verb);
// Errors: `invalid`, naming the connection whose id or cursor value is not UTF-8.
[[nodiscard]] Result<void> storable(const core::CursorPage& page);

// An object of texts, keys in order.
[[nodiscard]] std::string labels_text(const core::Labels& labels);
// An array of [id, sequence_id, epoch, ordinal, stream, value]. Readers ignore what follows these six.
[[nodiscard]] std::string entries_text(const std::vector<core::CursorEntry>& entries);

// Whether `text` is one valid JSON document.
[[nodiscard]] bool is_json(std::string_view text);
// `text` with every byte that is not UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view text);

// Reads the texts back; keeps its buffers. Nothing where the text is not what a store writes. Thread-safety: none.
class RowTextReader {
public:
    RowTextReader();
    ~RowTextReader();
    RowTextReader(const RowTextReader&) = delete;
    RowTextReader& operator=(const RowTextReader&) = delete;

    [[nodiscard]] std::optional<core::Labels> labels(std::string_view text);
    [[nodiscard]] std::optional<std::vector<core::CursorEntry>> entries(std::string_view text);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::store
