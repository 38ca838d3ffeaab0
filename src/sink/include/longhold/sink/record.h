// SPDX-License-Identifier: Apache-2.0
// Records and the batches that carry them from a connection to a sink.
//
// A batch is filled on one I/O thread, handed over whole, and comes back whole with the sink's
// word; its memory is then used again, so that the hot path does not allocate. Thread-safety: one
// owner at a time; handing over is the synchronisation.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/runtime/acting_right.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sink {

// `data`: a message; `gap`: messages known or suspected lost; `state`: a connection's own news,
// each epoch opens with one.
enum class RecordKind : std::uint8_t { data, gap, state };

// What records of one connection in one epoch have in common. Its owner keeps it alive until every
// batch that names it has come back.
struct Origin {
    ConnectionId connection;
    Epoch epoch;
    void* context = nullptr;  // the owner's own; sinks do not look at it
};

// One record. `seq`, `key` and `body` lie in the batch's text, at offset and size.
struct RecordHeader {
    const Origin* origin = nullptr;
    std::uint64_t ordinal = 0;  // from 1 in an epoch
    WallTime received_at{};
    std::uint32_t stream = 0;
    RecordKind kind = RecordKind::data;
    bool binary = false;       // the body is bytes: data_base64 instead of data
    bool seq_is_text = false;  // the upstream's sequence was a JSON string, and is one in the record
    std::uint8_t reserved = 0;
    std::uint32_t seq_size = 0;  // 0: the record has no sequence
    std::uint32_t body_size =
        0;                      // data: the payload. gap, state: the further JSON members, as `"reason":"…","from":"…"`
    std::uint64_t text_at = 0;  // seq, then body
};

class RecordBatch {
public:
    // What every record of the batch acts under: the session's right, and the session that the sink
    // files it under.
    std::shared_ptr<const runtime::ActingRight> right;
    SessionId session;

    // Appends a copy of `seq` and `body`. Sizes in `header` are set here.
    void append(RecordHeader header, std::string_view seq, std::string_view body) {
        header.text_at = text_.size();
        header.seq_size = static_cast<std::uint32_t>(seq.size());
        header.body_size = static_cast<std::uint32_t>(body.size());
        text_.append(seq);
        text_.append(body);
        records_.push_back(header);
    }

    void clear() {
        records_.clear();
        text_.clear();
        right.reset();
        session = SessionId{};
    }

    [[nodiscard]] const std::vector<RecordHeader>& records() const { return records_; }

    [[nodiscard]] std::string_view seq(const RecordHeader& header) const {
        return std::string_view{text_}.substr(header.text_at, header.seq_size);
    }

    [[nodiscard]] std::string_view body(const RecordHeader& header) const {
        return std::string_view{text_}.substr(header.text_at + header.seq_size, header.body_size);
    }

    // What the batch counts against bounds: its text and its headers.
    [[nodiscard]] std::size_t bytes() const { return text_.size() + records_.size() * sizeof(RecordHeader); }

    [[nodiscard]] bool empty() const { return records_.empty(); }

private:
    std::vector<RecordHeader> records_;
    std::string text_;
};

}  // namespace longhold::sink
