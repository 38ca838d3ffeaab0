// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/lifecycle/background.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/with_deadline.h>

namespace longhold::lifecycle {

runtime::Task<> check_dependency(runtime::Loop& loop, Health& health, telemetry::Log& log, std::string name,
                                 DependencyCheck check, Duration every, Duration within) {
    bool was_up = true;
    for (;;) {
        const Instant began = loop.clock().now();
        auto outcome = co_await runtime::with_deadline(loop, began + within, check(began + within));
        DependencyResult result =
            outcome ? std::move(*outcome) : std::unexpected("no answer within " + format_duration(within));
        if (result && !was_up) {
            log.info("dependency is back", {{"dependency", name}});
        } else if (!result && was_up) {
            log.warning("dependency is down", {{"dependency", name}, {"reason", result.error()}});
        }
        was_up = result.has_value();
        health.checked(name, std::move(result), loop.clock().now());
        co_await runtime::sleep_until(loop, began + every);
    }
}

runtime::Task<> feed_service_watchdog(runtime::Loop& loop, const Health& health,
                                      const runtime::ServiceNotifier& notifier, telemetry::Log& log, Duration every) {
    bool told = false;
    for (;;) {
        const Instant now = loop.clock().now();
        const Verdict verdict = health.livez(now);
        const auto sent = verdict.good ? notifier.alive() : std::expected<void, std::string>{};
        if (!sent && !told) {
            log.warning("service manager not told", {{"reason", sent.error()}});
        }
        told = !sent;
        co_await runtime::sleep_until(loop, now + every);
    }
}

}  // namespace longhold::lifecycle
