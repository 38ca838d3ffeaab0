// SPDX-License-Identifier: Apache-2.0
#include "settings_keys.h"

#include <longhold/config/names.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>

namespace longhold::config {
namespace {

using Checked = std::expected<void, std::string>;
using Rows = std::vector<Key<Settings>>;

Checked check_role(std::string_view role) {
    if (role == "worker") {
        return {};
    }
    if (role == "api") {
        return std::unexpected("the role \"api\" is not in this release; use [\"worker\"]");
    }
    return std::unexpected("there is no role \"" + std::string{role} + "\"; use [\"worker\"]");
}

Checked check_scheme(std::string_view url) {
    const auto colon = url.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == url.size()) {
        return std::unexpected("\"" + without_password(url) + "\" has no scheme or nothing behind it; write it like " +
                               "sqlite:longhold.db or ndjson:messages/");
    }
    return {};
}

Checked check_listen(std::string_view address) {
    return check_listen_address(address);
}

// Whether valid UTF-8 has one of U+0080 to U+009F, which terminals take for commands too.
bool has_c1_control(std::string_view text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i - 1] == '\xc2' && static_cast<unsigned char>(text[i]) < 0xa0) {
            return true;
        }
    }
    return false;
}

Checked check_worker_id(std::string_view id) {
    if (id.empty()) {
        return {};
    }
    const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
    if (id.size() > 128 || std::ranges::any_of(id, bad) || !simdjson::validate_utf8(id) || has_c1_control(id)) {
        return std::unexpected(
            "it must be valid UTF-8 of at most 128 bytes with no spaces or control characters; shorten or correct it");
    }
    return {};
}

void add_process_keys(Rows& rows) {
    rows.push_back(
        {{.path = "roles", .summary = "What this process does: `worker` holds connections.", .check = check_role},
         [](Settings& settings) -> Field { return &settings.roles; }});
    rows.push_back({{.path = "store.url",
                     .summary = "Where ownership is kept: `sqlite:FILE`.",
                     .check = check_scheme,
                     .references = true},
                    [](Settings& settings) -> Field { return &settings.store.url; }});
    rows.push_back({{.path = "store.namespace", .summary = "Separates fleets in one store.", .check = check_namespace},
                    [](Settings& settings) -> Field { return &settings.store.name_space; }});
}

void add_worker_keys(Rows& rows) {
    rows.push_back({{.path = "worker.id",
                     .summary = "Names this worker in the store; empty: the host name and a suffix unique on the host.",
                     .check = check_worker_id},
                    [](Settings& settings) -> Field { return &settings.worker.id; }});
    rows.push_back({{.path = "worker.max_connections",
                     .summary = "Connections that this worker is willing to hold.",
                     .least = "1",
                     .greatest = "1000000"},
                    [](Settings& settings) -> Field { return &settings.worker.max_connections; }});
    rows.push_back({{.path = "worker.threads", .summary = "I/O threads; 0: one per core.", .greatest = "256"},
                    [](Settings& settings) -> Field { return &settings.worker.threads; }});
    rows.push_back(
        {{.path = "worker.generation", .summary = "Number of the rollout; newer sessions are preferred as owners."},
         [](Settings& settings) -> Field { return &settings.worker.generation; }});
    rows.push_back({{.path = "worker.zone",
                     .summary = "Failure domain; sessions of other zones are watched first.",
                     .check = check_worker_id},
                    [](Settings& settings) -> Field { return &settings.worker.zone; }});
    rows.push_back({{.path = "worker.intake_bytes",
                     .summary = "Bound of the records received and not yet acked, in the whole process.",
                     .least = "1MiB",
                     .greatest = "1024GiB"},
                    [](Settings& settings) -> Field { return &settings.worker.intake_bytes; }});
    rows.push_back({{.path = "worker.tombstone_retention",
                     .summary = "How long a deleted connection's row stays, so that its epoch cannot come back.",
                     .least = "1m",
                     .greatest = "3650d"},
                    [](Settings& settings) -> Field { return &settings.worker.tombstone_retention; }});
}

void add_lease_keys(Rows& rows) {
    rows.push_back(
        {{.path = "lease.duration",
          .summary = "How long a session may act after a heartbeat; recovery from a crash takes about this long.",
          .least = "100ms",
          .greatest = "1h"},
         [](Settings& settings) -> Field { return &settings.lease.duration; }});
    rows.push_back({{.path = "lease.heartbeat_every",
                     .summary = "Time between heartbeats; at most a third of the lease.",
                     .least = "10ms",
                     .greatest = "20m"},
                    [](Settings& settings) -> Field { return &settings.lease.heartbeat_every; }});
    rows.push_back({{.path = "lease.drift_max",
                     .summary = "How far clock rates may differ, as a fraction.",
                     .least = "0",
                     .greatest = "0.2"},
                    [](Settings& settings) -> Field { return &settings.lease.drift_max; }});
    rows.push_back({{.path = "lease.margin",
                     .summary = "What an observer waits beyond the lease before it fences.",
                     .greatest = "1m"},
                    [](Settings& settings) -> Field { return &settings.lease.margin; }});
    rows.push_back({{.path = "lease.stop_margin",
                     .summary = "How long before its lease ends a session stops acting.",
                     .greatest = "1m"},
                    [](Settings& settings) -> Field { return &settings.lease.stop_margin; }});
}

void add_reconcile_keys(Rows& rows) {
    rows.push_back({{.path = "reconcile.unowned_every",
                     .summary = "Time between looks for connections that nobody owns.",
                     .least = "10ms",
                     .greatest = "1h"},
                    [](Settings& settings) -> Field { return &settings.reconcile.unowned_every; }});
    rows.push_back({{.path = "reconcile.owned_every",
                     .summary = "Time between looks at one's own connections: stops and changes arrive so.",
                     .least = "10ms",
                     .greatest = "1h"},
                    [](Settings& settings) -> Field { return &settings.reconcile.owned_every; }});
    rows.push_back({{.path = "reconcile.sweep_every",
                     .summary = "Time between sweeps for what looks by index missed.",
                     .least = "100ms",
                     .greatest = "24h"},
                    [](Settings& settings) -> Field { return &settings.reconcile.sweep_every; }});
    rows.push_back({{.path = "reconcile.page_size",
                     .summary = "Rows per read, and claims per batch.",
                     .least = "1",
                     .greatest = "10000"},
                    [](Settings& settings) -> Field { return &settings.reconcile.page_size; }});
    rows.push_back(
        {{.path = "reconcile.jitter",
          .summary = "Random share by which each of these times differs, so that workers do not move in step.",
          .least = "0",
          .greatest = "1"},
         [](Settings& settings) -> Field { return &settings.reconcile.jitter; }});
}

void add_dial_keys(Rows& rows) {
    rows.push_back({{.path = "dial.backoff_min",
                     .summary = "First wait after a failed attempt; waits double, with full jitter.",
                     .least = "1ms",
                     .greatest = "1h"},
                    [](Settings& settings) -> Field { return &settings.dial.backoff_min; }});
    rows.push_back(
        {{.path = "dial.backoff_max", .summary = "Longest wait between attempts.", .least = "1ms", .greatest = "24h"},
         [](Settings& settings) -> Field { return &settings.dial.backoff_max; }});
    rows.push_back({{.path = "dial.attempts_at_once",
                     .summary = "Connection attempts under way at one time, per worker.",
                     .least = "1",
                     .greatest = "100000"},
                    [](Settings& settings) -> Field { return &settings.dial.attempts_at_once; }});
}

void add_sink_keys(Rows& rows) {
    rows.push_back({{.path = "sinks.main.url",
                     .summary = "Where messages go: `ndjson:DIRECTORY/`.",
                     .check = check_scheme,
                     .references = true},
                    [](Settings& settings) -> Field { return &settings.sinks.main.url; }});
    rows.push_back({{.path = "sinks.main.checkpoint_every",
                     .summary = "Time between writes of moved cursors to the store.",
                     .least = "10ms",
                     .greatest = "1h"},
                    [](Settings& settings) -> Field { return &settings.sinks.main.checkpoint_every; }});
    rows.push_back({{.path = "sinks.main.fsync_every",
                     .summary = "Longest time that a message waits for its fsync and so for its ack; 0: each batch.",
                     .greatest = "1m"},
                    [](Settings& settings) -> Field { return &settings.sinks.main.fsync_every; }});
    rows.push_back({{.path = "sinks.main.rotate_bytes",
                     .summary = "Size at which a new file begins.",
                     .least = "4KiB",
                     .greatest = "1024GiB"},
                    [](Settings& settings) -> Field { return &settings.sinks.main.rotate_bytes; }});
    rows.push_back({{.path = "sinks.main.rotate_every",
                     .summary = "Age at which a new file begins.",
                     .least = "1s",
                     .greatest = "3650d"},
                    [](Settings& settings) -> Field { return &settings.sinks.main.rotate_every; }});
}

void add_admin_keys(Rows& rows) {
    rows.push_back({{.path = "admin.listen",
                     .summary = "Address of livez, readyz, startupz, health and metrics.",
                     .check = check_listen},
                    [](Settings& settings) -> Field { return &settings.admin.listen; }});
}

Checked check_advertise(std::string_view address) {
    const auto colon = address.rfind(':');
    std::uint32_t port = 0;
    const auto digits = colon == std::string_view::npos ? std::string_view{} : address.substr(colon + 1);
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool whole = failure == std::errc{} && end == digits.data() + digits.size();
    if (address.empty() || (colon > 0 && whole && port > 0 && port <= 65'535 && !address.contains(' '))) {
        return {};
    }
    return std::unexpected("\"" + std::string{address} +
                           "\" is no ADDRESS:PORT with an address in numbers; write it like 10.0.0.7:8472");
}

Checked check_peer_key(std::string_view key) {
    constexpr std::size_t key_bytes_min = 16;
    if (key.size() < key_bytes_min) {
        return std::unexpected("a key has fewer than 16 bytes; make one with: openssl rand -hex 32");
    }
    return {};
}

void add_peer_keys(Rows& rows) {
    rows.push_back({{.path = "peer.listen",
                     .summary = "Address for hints of other workers; opened only where peer.keys has a key.",
                     .check = check_listen},
                    [](Settings& settings) -> Field { return &settings.peer.listen; }});
    rows.push_back({{.path = "peer.advertise",
                     .summary = "HOST:PORT by which other workers reach peer.listen; empty: as it listens.",
                     .check = check_advertise},
                    [](Settings& settings) -> Field { return &settings.peer.advertise; }});
    rows.push_back(
        {{.path = "peer.keys",
          .summary = "Keys that workers share: the first signs hints, all are accepted. Without one there are "
                     "no hints, and handovers wait for polls.",
          .check = check_peer_key,
          .references = true,
          .secret = true},
         [](Settings& settings) -> Field { return &settings.peer.keys; }});
}

void add_drain_keys(Rows& rows) {
    rows.push_back({{.path = "drain.balancer_wait",
                     .summary = "Wait after readyz turned, for a load balancer to see it; `auto` is 0 for a worker.",
                     .greatest = "1h",
                     .preset_word = "auto",
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.drain.balancer_wait; }});
    rows.push_back({{.path = "drain.requests",
                     .summary = "Budget of a stop: requests in flight.",
                     .greatest = "1h",
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.drain.requests; }});
    rows.push_back({{.path = "drain.handover",
                     .summary = "Budget of a stop: giving connections away.",
                     .greatest = "1h",
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.drain.handover; }});
    rows.push_back({{.path = "drain.flush",
                     .summary = "Budget of a stop: writing what the sink still holds.",
                     .greatest = "1h",
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.drain.flush; }});
    rows.push_back({{.path = "drain.close",
                     .summary = "Budget of a stop: closing store and sinks.",
                     .greatest = "1h",
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.drain.close; }});
    rows.push_back(
        {{.path = "drain.grace",
          .summary =
              "What the orchestrator grants between SIGTERM and SIGKILL; checked against the budgets when given.",
          .greatest = "24h",
          .restart = false},
         [](Settings& settings) -> Field { return &settings.drain.grace; }});
}

void add_log_keys(Rows& rows) {
    rows.push_back({{.path = "log.level",
                     .summary = "Least severity that is written: debug, info, warning or error.",
                     .choices = {"debug", "info", "warning", "error"},
                     .restart = false},
                    [](Settings& settings) -> Field { return &settings.log.level; }});
    rows.push_back(
        {{.path = "log.format", .summary = "Form of log lines on stderr: text or json.", .choices = {"text", "json"}},
         [](Settings& settings) -> Field { return &settings.log.format; }});
    rows.push_back({{.path = "profiles.directory",
                     .summary = "Directory of further profiles, one TOML file each; empty: only the shipped ones."},
                    [](Settings& settings) -> Field { return &settings.profiles.directory; }});
}

Rows build_table() {
    Rows rows;
    add_process_keys(rows);
    add_worker_keys(rows);
    add_lease_keys(rows);
    add_reconcile_keys(rows);
    add_dial_keys(rows);
    add_sink_keys(rows);
    add_admin_keys(rows);
    add_peer_keys(rows);
    add_drain_keys(rows);
    add_log_keys(rows);
    return rows;
}

}  // namespace

const std::vector<Key<Settings>>& settings_table() {
    static const Rows rows = build_table();
    return rows;
}

std::vector<KeyDescription> setting_keys() {
    return describe(settings_table());
}

std::expected<void, std::string> check_listen_address(std::string_view address) {
    const std::string subject = "\"" + std::string{address} + "\" is no address to listen on: ";
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos) {
        return std::unexpected(subject + "it has no port; write it like 127.0.0.1:8471");
    }
    const auto host = address.substr(0, colon);
    const auto port = address.substr(colon + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc{} || end != port.data() + port.size() || number > 65'535) {
        return std::unexpected(subject + "the port \"" + std::string{port} +
                               "\" is not a number of 0 to 65535; correct it");
    }
    const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    if (!bracketed && host.find(':') != std::string_view::npos) {
        return std::unexpected(subject + "an IPv6 address needs brackets; write it like [::1]:8471");
    }
    const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == '/' || c == '@'; };
    if (std::ranges::any_of(host, bad)) {
        return std::unexpected(subject + "the host has characters that are not allowed; write it like 127.0.0.1:8471");
    }
    return {};
}

}  // namespace longhold::config
