// SPDX-License-Identifier: Apache-2.0
// Carries the engine's requests out on a Store, and counts them.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/task.h>
#include <longhold/store/store.h>
#include <longhold/telemetry/metrics.h>

#include <string_view>

#include "takeover_reader.h"

namespace longhold::worker {

class StoreCalls {
public:
    StoreCalls(store::Store& store, TakeoverReader& takeovers, const runtime::Clock& clock, telemetry::Metrics& metrics,
               std::uint32_t page_size)
        : store_(store), takeovers_(takeovers), clock_(clock), metrics_(metrics), page_size_(page_size) {}

    // Ends by `deadline`. Never fails: what could not be had is ReadFailed or an unknown outcome.
    [[nodiscard]] runtime::Task<core::Answer> perform(core::Request request, Instant deadline);

private:
    runtime::Task<core::Answer> answer(core::Request request, Instant deadline);
    runtime::Task<core::Answer> answer_read(core::Request request, Instant deadline);
    runtime::Task<core::Answer> answer_page(core::Request request, Instant deadline);

    store::Store& store_;
    TakeoverReader& takeovers_;
    const runtime::Clock& clock_;
    telemetry::Metrics& metrics_;
    std::uint32_t page_size_;
};

// As metrics name it: "beat", "claim", …
[[nodiscard]] std::string_view verb_of(const core::Request& request);

}  // namespace longhold::worker
