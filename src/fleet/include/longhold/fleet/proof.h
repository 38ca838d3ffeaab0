// SPDX-License-Identifier: Apache-2.0
// Proof: what a run of a fleet delivered, judged from the sink's records, the upstream's oracle and the harm done.
//
// Pure computation. Every figure is defined in docs/proof-of-quickstart.md; tests/e2e/check_proof computes them a
// second time. Change all three together.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhold::fleet {

// (epoch, ordinal): where a record stands in its connection's order.
struct RecordPlace {
    std::uint64_t epoch = 0;
    std::uint64_t ordinal = 0;

    friend auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

// One record of a sink, as far as it is judged. The texts are copied by Proof::add().
struct ProofRecord {
    std::string_view connection;
    std::string_view session;  // whose file it is in
    RecordPlace place;
    std::uint32_t stream = 0;
    bool is_data = false;
    std::optional<std::uint64_t> seq;   // none: the record has none, or not a number
    std::int64_t received_at_us = 0;    // CLOCK_REALTIME
    std::optional<RecordPlace> resume;  // of a state record that opens its epoch; {0, 0} where it names none
};

struct OracleSocket {
    std::int64_t opened_at_us = 0;
    std::optional<std::int64_t> closed_at_us;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> firsts;  // stream, first number that it was sent of it
};

struct OracleId {
    std::vector<std::uint64_t> heads;  // of streams 1, 2, …
    std::vector<OracleSocket> sockets;
};

using Oracle = std::map<std::string, OracleId, std::less<>>;

struct StreamHead {
    std::uint32_t stream = 0;
    std::uint64_t seq = 0;

    friend bool operator==(const StreamHead&, const StreamHead&) = default;
};

enum class HarmKind : std::uint8_t { kill, drain };

// What was done to one worker.
struct Harm {
    std::int64_t at_us = 0;  // CLOCK_REALTIME, just before the signal was sent
    HarmKind kind = HarmKind::kill;
    std::string worker;
    std::string session;
    std::vector<std::string> connections;  // that the session owned then

    friend bool operator==(const Harm&, const Harm&) = default;
};

// What is judged: how far each connection's upstream had come when the load was stopped.
struct Stop {
    std::int64_t at_us = 0;
    std::map<std::string, StreamHead, std::less<>> heads;

    friend bool operator==(const Stop&, const Stop&) = default;
};

struct RunEvents {
    std::vector<Harm> harms;
    Stop stop;

    friend bool operator==(const RunEvents&, const RunEvents&) = default;
};

// Of some durations, by nearest rank; all 0 when there are none.
struct Spread {
    std::uint64_t count = 0;
    std::int64_t p50_us = 0;
    std::int64_t p99_us = 0;
    std::int64_t max_us = 0;

    friend bool operator==(const Spread&, const Spread&) = default;
};

[[nodiscard]] Spread spread_of(std::vector<std::int64_t> values);

struct ProofResult {
    std::uint64_t connections = 0;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t redelivered = 0;
    std::uint64_t late = 0;
    std::uint64_t overlaps = 0;
    std::uint64_t unknown = 0;
    std::uint64_t unrecovered = 0;
    Spread crash_recovery;
    Spread handover_gap;
    std::vector<std::string> failures;  // sentences; none: the proof holds

    [[nodiscard]] bool holds() const { return failures.empty(); }
};

// Collects records, in any order, then judges. Thread-safety: none. About 64 bytes per record.
class Proof {
public:
    void add(const ProofRecord& record);

    [[nodiscard]] ProofResult judge(const Oracle& oracle, const RunEvents& events) const;

private:
    struct Record {
        RecordPlace place;
        std::optional<std::uint64_t> seq;
        std::int64_t received_at_us = 0;
        std::uint32_t stream = 0;
        std::uint32_t session = 0;  // a number for the text
        bool is_data = false;
    };

    struct Opening {
        std::uint64_t epoch = 0;
        std::int64_t received_at_us = 0;
        RecordPlace resume;
    };

    struct Connection {
        std::vector<Record> records;
        std::vector<Opening> openings;
    };

    class Judge;

    std::map<std::string, Connection, std::less<>> connections_;
    std::map<std::string, std::uint32_t, std::less<>> sessions_;
};

// The document that quickstart prints and keeps as proof.json; one line when `indent` is 0.
[[nodiscard]] std::string proof_json(const ProofResult& result, int indent);

// Errors: a sentence that names the member that is missing or wrong.
[[nodiscard]] std::expected<Oracle, std::string> parse_oracle(std::string_view json);
[[nodiscard]] std::expected<RunEvents, std::string> parse_events(std::string_view json);
// The newest stream and its head of each id, for Stop::heads.
[[nodiscard]] std::map<std::string, StreamHead, std::less<>> heads_of(const Oracle& oracle);
// What parse_events() reads.
[[nodiscard]] std::string events_json(const RunEvents& events);

}  // namespace longhold::fleet
