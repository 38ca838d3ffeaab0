// SPDX-License-Identifier: Apache-2.0
// Counters: what a sink's threads tell health() without a lock.
#pragma once

#include <longhold/sink/record.h>
#include <longhold/sink/sink.h>

#include <atomic>
#include <cstdint>

namespace longhold::sink {

struct Counters {
    std::atomic<std::uint64_t> records{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> batches{0};
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::uint64_t> pending_records{0};
    std::atomic<std::uint64_t> pending_bytes{0};

    void submitted(const RecordBatch& batch) {
        pending_records.fetch_add(batch.records().size(), std::memory_order_relaxed);
        pending_bytes.fetch_add(batch.bytes(), std::memory_order_relaxed);
    }

    // Requires the batch as it was submitted.
    void returned(const RecordBatch& batch, Delivery delivery) {
        pending_records.fetch_sub(batch.records().size(), std::memory_order_relaxed);
        pending_bytes.fetch_sub(batch.bytes(), std::memory_order_relaxed);
        if (delivery == Delivery::durable) {
            records.fetch_add(batch.records().size(), std::memory_order_relaxed);
            batches.fetch_add(1, std::memory_order_relaxed);
        }
    }
};

}  // namespace longhold::sink
