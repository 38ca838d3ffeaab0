// SPDX-License-Identifier: Apache-2.0
// The verbs of the ownership protocol: what the engine asks of a store, and the three outcomes that
// a verb can have.
//
// A verb is a value: the engine emits it, a store carries it out as one conditional write, the
// answer goes back as an event. "CAS" below: the write happens only where the row is as the verb
// expects, and atomically.
#pragma once

#include <longhold/core/rows.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace longhold::core {

enum class Verdict : std::uint8_t {
    done,     // the write happened; `row` is the row after it
    refused,  // the write did not happen and never will; `row` is the current row, absent when
              // there is none
    unknown,  // it may have happened, or happen later: read back, and look for one's own attempt
              // token
};

// What became of a conditional write on one row. A refusal is a value, not an error.
template <class Row>
struct Outcome {
    Verdict verdict = Verdict::unknown;
    std::optional<Row> row;  // always present when done; never when unknown

    [[nodiscard]] static Outcome done(Row row) { return {Verdict::done, std::move(row)}; }

    [[nodiscard]] static Outcome refused(std::optional<Row> current) { return {Verdict::refused, std::move(current)}; }

    [[nodiscard]] static Outcome unknown() { return {}; }

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

// ---- on sessions
// -----------------------------------------------------------------------------------------------------

// Creates the session row. Refused where a row of that id exists.
struct Join {
    SessionRow row;

    friend bool operator==(const Join&, const Join&) = default;
};

// Heartbeat. CAS: counter = counter_expected and the state is not final. Sets counter + 1 and the
// fields below.
struct Beat {
    SessionId session;
    std::uint64_t counter_expected = 0;
    AttemptToken attempt;
    SessionState state = SessionState::active;  // active or draining
    std::uint32_t load = 0;

    friend bool operator==(const Beat&, const Beat&) = default;
};

// Ends one's own session. CAS: the state is not final. Sets LEFT and the attempt.
struct Leave {
    SessionId session;
    AttemptToken attempt;

    friend bool operator==(const Leave&, const Leave&) = default;
};

// Declares a session dead. CAS: the state is not final, and counter = counter_expected where one is
// given. Sets FENCED and the attempt. With `create_if_absent` a missing row is created as FENCED
// (worker id empty), so that it can never be joined later.
struct Fence {
    SessionId session;
    std::optional<std::uint64_t> counter_expected;
    AttemptToken attempt;
    bool create_if_absent = false;

    friend bool operator==(const Fence&, const Fence&) = default;
};

// Removes a session row and its cursor pages. CAS: the state is final, and no connection row names
// it where the store can check that cheaply (the engine has looked, see rule 3).
struct RemoveSession {
    SessionId session;

    friend bool operator==(const RemoveSession&, const RemoveSession&) = default;
};

// ---- on connections, batched: one outcome per item, in order, each independent of the others
// --------------------------

// CAS: the row exists, owner = owner_expected, epoch = epoch_expected and desired is STARTED. Sets
// owner = session, epoch + 1, attempt, clears phase and offer, and sets the cursor where `cursor`
// is further than the row's. Never creates a row.
struct Claim {
    ConnectionId connection;
    Owner owner_expected;
    Epoch epoch_expected;
    SessionId session;
    AttemptToken attempt;
    std::optional<Cursor> cursor;

    friend bool operator==(const Claim&, const Claim&) = default;
};

// CAS: owner = session and epoch = epoch. Sets nobody as owner (bucket by the desired state), keeps
// the epoch, sets the attempt, clears phase and offer, and sets the cursor where `cursor` is
// further than the row's.
struct Release {
    ConnectionId connection;
    SessionId session;
    Epoch epoch;
    AttemptToken attempt;
    std::optional<Cursor> cursor;

    friend bool operator==(const Release&, const Release&) = default;
};

}  // namespace longhold::core
