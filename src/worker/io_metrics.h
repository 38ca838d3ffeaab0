// SPDX-License-Identifier: Apache-2.0
// IoMetrics: the metrics that the hot path touches, looked up once.
#pragma once

#include <longhold/telemetry/metrics.h>

#include <string>

namespace longhold::worker {

struct IoMetrics {
    explicit IoMetrics(telemetry::Metrics& metrics)
        : all(metrics),
          messages(metrics.counter("longhold_messages_total")),
          message_bytes(metrics.counter("longhold_message_bytes_total")),
          data_records(metrics.counter("longhold_records_total", {{"kind", "data"}})),
          gap_records(metrics.counter("longhold_records_total", {{"kind", "gap"}})),
          state_records(metrics.counter("longhold_records_total", {{"kind", "state"}})),
          duplicates(metrics.counter("longhold_duplicates_total")),
          dialing(metrics.gauge("longhold_connections", {{"phase", "dialing"}})),
          open(metrics.gauge("longhold_connections", {{"phase", "open"}})),
          backoff(metrics.gauge("longhold_connections", {{"phase", "backoff"}})),
          closing(metrics.gauge("longhold_connections", {{"phase", "closing"}})) {}

    telemetry::Metrics& all;
    telemetry::Counter& messages;
    telemetry::Counter& message_bytes;
    telemetry::Counter& data_records;
    telemetry::Counter& gap_records;
    telemetry::Counter& state_records;
    telemetry::Counter& duplicates;
    telemetry::Gauge& dialing;
    telemetry::Gauge& open;
    telemetry::Gauge& backoff;
    telemetry::Gauge& closing;
};

}  // namespace longhold::worker
