// SPDX-License-Identifier: Apache-2.0
// The one table of metrics: what is not here cannot be asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace longhold::telemetry {

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

struct MetricSpec {
    std::string_view name;
    MetricKind kind = MetricKind::counter;
    std::string_view help;
    std::span<const std::string_view> labels{};
    // All values of the only label, where they are known: exposed from the start.
    std::span<const std::string_view> values{};
};

// Sorted by name.
[[nodiscard]] std::span<const MetricSpec> metrics_table();

}  // namespace longhold::telemetry
