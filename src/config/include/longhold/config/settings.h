// SPDX-License-Identifier: Apache-2.0
// Settings: what a process is told, as plain values.
//
// Precedence: flag (`--set section.key=value`), environment (LONGHOLD_<SECTION>__<KEY>), file (TOML), default. The
// member initialisers below are the defaults. Every key is described once, in settings_keys.cc; docs/configuration.md
// is checked against that table. Pure: reads no file and no environment but what is handed in.
#pragma once

#include <longhold/base/time.h>
#include <longhold/config/byte_size.h>
#include <longhold/config/problem.h>
#include <longhold/config/references.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::config {

using namespace std::chrono_literals;

struct StoreSettings {
    std::string url = "sqlite:longhold.db";
    std::string name_space = "default";  // key: namespace

    friend bool operator==(const StoreSettings&, const StoreSettings&) = default;
};

struct WorkerSettings {
    std::string id;  // empty: host name plus a suffix unique on that host
    std::uint32_t max_connections = 10'000;
    std::uint32_t threads = 0;  // 0: one per core
    std::uint64_t generation = 0;
    std::string zone;
    ByteSize intake_bytes{64 * mebibyte};  // bound of records received and not yet acked, in the process
    Duration tombstone_retention = 168h;

    friend bool operator==(const WorkerSettings&, const WorkerSettings&) = default;
};

struct LeaseSettings {
    Duration duration = 6s;
    Duration heartbeat_every = 2s;
    double drift_max = 0.01;
    Duration margin = 50ms;
    Duration stop_margin = 100ms;

    friend bool operator==(const LeaseSettings&, const LeaseSettings&) = default;
};

struct ReconcileSettings {
    Duration unowned_every = 500ms;
    Duration owned_every = 2s;
    Duration sweep_every = 30s;
    std::uint32_t page_size = 100;
    double jitter = 0.2;

    friend bool operator==(const ReconcileSettings&, const ReconcileSettings&) = default;
};

struct DialSettings {
    Duration backoff_min = 250ms;
    Duration backoff_max = 30s;
    std::uint32_t attempts_at_once = 100;  // per worker

    friend bool operator==(const DialSettings&, const DialSettings&) = default;
};

struct SinkSettings {
    std::string url = "ndjson:messages/";
    Duration checkpoint_every = 5s;
    Duration fsync_every = 200ms;  // 0: each batch
    ByteSize rotate_bytes{128 * mebibyte};
    Duration rotate_every = 1h;

    friend bool operator==(const SinkSettings&, const SinkSettings&) = default;
};

struct SinksSettings {
    SinkSettings main;

    friend bool operator==(const SinksSettings&, const SinksSettings&) = default;
};

struct AdminSettings {
    std::string listen = "127.0.0.1:8471";

    friend bool operator==(const AdminSettings&, const AdminSettings&) = default;
};

// Hints between workers.
struct PeerSettings {
    std::string listen = "127.0.0.1:8472";  // used only when there are keys
    std::string advertise;                  // what others reach it by; empty: as it listens
    std::vector<std::string> keys;          // the first signs, all are accepted; none: no hints

    friend bool operator==(const PeerSettings&, const PeerSettings&) = default;
};

// Budgets of a stop, all counted from SIGTERM.
struct DrainSettings {
    Duration balancer_wait{};  // "auto" is 0 for a worker
    Duration requests = 15s;
    Duration handover = 20s;
    Duration flush = 5s;
    Duration close = 2s;
    std::optional<Duration> grace;  // what the orchestrator grants; absent: not told

    friend bool operator==(const DrainSettings&, const DrainSettings&) = default;
};

inline constexpr Duration drain_reserve = 5s;
// Others must see a drain before anything is given away: a heartbeat, and so much for its write and their look.
inline constexpr Duration drain_seen_after = 200ms;

struct LogSettings {
    std::string level = "info";   // debug, info, warning, error
    std::string format = "text";  // text, json

    friend bool operator==(const LogSettings&, const LogSettings&) = default;
};

struct ProfilesSettings {
    std::string directory;  // of further profiles; empty: only the shipped ones

    friend bool operator==(const ProfilesSettings&, const ProfilesSettings&) = default;
};

enum class OriginKind : std::uint8_t { preset, file, environment, flag };

// Where a key's value comes from.
struct Origin {
    OriginKind kind = OriginKind::preset;
    std::string place = "default";  // "default", "longhold.toml:3:12", "environment LONGHOLD_X__Y", "--set x.y"
    std::string shown;              // the value as people may see it: references unresolved, passwords hidden

    friend bool operator==(const Origin&, const Origin&) = default;
};

struct Settings {
    std::vector<std::string> roles{"worker"};
    StoreSettings store;
    WorkerSettings worker;
    LeaseSettings lease;
    ReconcileSettings reconcile;
    DialSettings dial;
    SinksSettings sinks;
    AdminSettings admin;
    PeerSettings peer;
    DrainSettings drain;
    LogSettings log;
    ProfilesSettings profiles;

    // The wait before anything is given away: for a balancer, and for other workers, at once.
    [[nodiscard]] Duration drain_wait() const;
    // What a stop of a worker may take: the budgets and drain_reserve.
    [[nodiscard]] Duration stop_within() const;

    std::map<std::string, Origin, std::less<>> origins;  // of every key, by its path; empty unless loaded

    friend bool operator==(const Settings&, const Settings&) = default;
};

// Everything that settings are made of.
struct SettingsInput {
    std::string file_name;                 // as messages name it
    std::optional<std::string> file_text;  // absent: no file
    ReferenceSources sources;              // the environment is read for LONGHOLD_ names too
    std::vector<std::string> flags;        // "section.key=value", in order; the last of a key counts
};

// Reads, resolves references, and validates each value and what several together must keep. Errors: all problems found.
[[nodiscard]] std::expected<Settings, Problems> load_settings(const SettingsInput& input);

// Paths of the keys whose values differ and that a reload cannot apply.
[[nodiscard]] std::vector<std::string> keys_needing_restart(const Settings& before, const Settings& after);

// One row of the table of keys, for docs, completion and `config explain`.
struct KeyDescription {
    std::string path;
    std::string type;    // "duration", "size", "text", …
    std::string preset;  // the default, as a person would write it
    std::string summary;
    bool restart = true;      // a change needs a restart
    bool references = false;  // takes ${env:NAME} and ${file:PATH}
};

[[nodiscard]] std::vector<KeyDescription> setting_keys();

// The name of a key in the environment: "LONGHOLD_SINKS__MAIN__URL".
[[nodiscard]] std::string environment_name(std::string_view path);

// Whether `address` is HOST:PORT, [IPV6]:PORT or :PORT, with a port of 0 to 65535. Errors: a sentence.
[[nodiscard]] std::expected<void, std::string> check_listen_address(std::string_view address);

}  // namespace longhold::config
