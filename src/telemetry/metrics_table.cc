// SPDX-License-Identifier: Apache-2.0
#include "metrics_table.h"

#include <algorithm>
#include <array>

namespace longhold::telemetry {
namespace {

using enum MetricKind;
using Words = std::span<const std::string_view>;
using std::string_view;

constexpr std::array by_version{string_view{"version"}};
constexpr std::array by_phase{string_view{"phase"}};
constexpr std::array phases{string_view{"dialing"}, string_view{"open"}, string_view{"backoff"},
                            string_view{"closing"}};
constexpr std::array by_kind{string_view{"kind"}};
constexpr std::array record_kinds{string_view{"data"}, string_view{"gap"}, string_view{"state"}};
constexpr std::array pause_kinds{string_view{"late_wake"}, string_view{"clocks_diverged"}};
constexpr std::array by_reason{string_view{"reason"}};
constexpr std::array by_result{string_view{"result"}};
constexpr std::array by_outcome{string_view{"outcome"}};
constexpr std::array by_verb{string_view{"verb"}};
constexpr std::array by_verb_and_outcome{string_view{"verb"}, string_view{"outcome"}};
constexpr std::array by_mode{string_view{"mode"}};
constexpr std::array by_direction_kind_and_result{string_view{"direction"}, string_view{"kind"}, string_view{"result"}};

// In the order of their names; a test looks.
constexpr std::array table{
    MetricSpec{"longhold_build_info", gauge, "Always 1; its label says what runs.", by_version},
    MetricSpec{"longhold_checkpoint_writes_total", counter, "Cursor pages written to the store."},
    MetricSpec{"longhold_claims_total", counter, "Attempts to become a connection's owner, by how they ended.",
               by_outcome},
    MetricSpec{"longhold_connections", gauge, "Connections that this worker owns, by what their sockets do.", by_phase,
               phases},
    MetricSpec{"longhold_degraded", gauge, "1 while this way of working with less is on.", by_mode},
    MetricSpec{"longhold_dials_total", counter, "Attempts to open a connection to an upstream, by how they ended.",
               by_result},
    MetricSpec{"longhold_disconnects_total", counter, "Open connections that ended, by why.", by_reason},
    MetricSpec{"longhold_duplicates_total", counter, "Messages received again and dropped before the sink."},
    MetricSpec{"longhold_fences_total", counter, "Sessions of other workers that this one declared dead."},
    MetricSpec{"longhold_gaps_total", counter, "Places where messages are known or suspected to be lost, by why.",
               by_reason},
    MetricSpec{"longhold_heartbeat_lateness_seconds", histogram, "How much later than planned heartbeats were sent."},
    MetricSpec{"longhold_held", gauge, "Connections that this worker owns and may act for."},
    MetricSpec{"longhold_hints_refused_total", counter, "Hints that came in and were no hints of a peer, by why.",
               by_reason},
    MetricSpec{"longhold_hints_total", counter, "Hints sent to peers and received from them, by what became of them.",
               by_direction_kind_and_result},
    MetricSpec{
        "longhold_lease_slack_seconds", histogram,
        "What was left of the session's right when a heartbeat renewed it; small values come before self-fencing."},
    MetricSpec{"longhold_log_lines_dropped_total", counter, "Log lines that stderr did not take in time."},
    MetricSpec{"longhold_mass_expiries_total", counter,
               "Times at which so many sessions looked dead at once that fencing waited a lease."},
    MetricSpec{"longhold_message_bytes_total", counter, "Payload bytes of messages received from upstreams."},
    MetricSpec{"longhold_messages_total", counter, "Messages received from upstreams."},
    MetricSpec{"longhold_pauses_total", counter,
               "Times at which the process or its clocks stood still, by how it was seen.", by_kind, pause_kinds},
    MetricSpec{"longhold_pending_bytes", gauge, "Bytes of records received and not yet acknowledged by the sink."},
    MetricSpec{"longhold_pending_oldest_seconds", gauge,
               "Age of the oldest record that the sink has not acknowledged."},
    MetricSpec{"longhold_pending_records", gauge, "Records received and not yet acknowledged by the sink."},
    MetricSpec{"longhold_records_total", counter, "Records that the sink acknowledged, by kind.", by_kind,
               record_kinds},
    MetricSpec{"longhold_releases_total", counter, "Connections given back by this worker, by how it ended.",
               by_outcome},
    MetricSpec{"longhold_self_fences_total", counter, "Times at which this worker ended its own right to act, by why.",
               by_reason},
    MetricSpec{"longhold_sessions", gauge, "Sessions that this worker sees alive in the fleet, its own included."},
    MetricSpec{"longhold_sink_batches_total", counter, "Batches that the sink acknowledged."},
    MetricSpec{"longhold_sink_failures_total", counter,
               "Writes and syncs of the sink that failed and are tried again."},
    MetricSpec{"longhold_sink_stuck", gauge, "1 while the sink's last write failed and is being tried again."},
    MetricSpec{"longhold_store_request_seconds", histogram, "How long requests to the store took.", by_verb},
    MetricSpec{"longhold_store_requests_total", counter, "Requests to the store, by verb and how they ended.",
               by_verb_and_outcome},
    MetricSpec{"longhold_stuck_loops_total", counter,
               "Times at which an event loop stopped ticking and lost its sockets."},
    MetricSpec{"longhold_unknown_outcomes_total", counter,
               "Store requests whose outcome had to be found out by reading back."},
};

}  // namespace

std::span<const MetricSpec> metrics_table() {
    return table;
}

}  // namespace longhold::telemetry
