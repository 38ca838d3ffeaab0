// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/lifecycle/start_sequence.h>
#include <longhold/runtime/with_deadline.h>

namespace longhold::lifecycle {

runtime::Task<std::expected<void, StartFailure>> run_start(runtime::Loop& loop, telemetry::Log& log,
                                                           std::vector<StartStep> steps,
                                                           std::function<void()> on_ready) {
    for (const StartStep& step : steps) {
        const Instant began = loop.clock().now();
        const Instant deadline = began + step.within;
        auto outcome = co_await runtime::with_deadline(loop, deadline, step.work(deadline));
        StepResult result =
            outcome ? std::move(*outcome) : std::unexpected("it was not done within " + format_duration(step.within));
        const Duration took = loop.clock().now() - began;
        if (!result) {
            log.error("start failed", {{"step", step.name}, {"reason", result.error()}, {"took", took}});
            co_return std::unexpected(StartFailure{step.name, std::move(result.error())});
        }
        log.debug("start step done", {{"step", step.name}, {"took", took}});
    }
    on_ready();
    co_return std::expected<void, StartFailure>{};
}

}  // namespace longhold::lifecycle
