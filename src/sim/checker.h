// SPDX-License-Identifier: Apache-2.0
// Checker: what must hold, looked at after every event; keeps the first violation. Knows what happened, not why.
//
// Invariants by their names in DESIGN section 3. Nothing here reads an engine: only what goes into the store, what
// comes out of the engines, and true time.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/sim/model_store.h>
#include <longhold/sim/plan.h>
#include <longhold/sim/run.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace longhold::sim {

class Checker {
public:
    Checker(const ModelStore& store, std::size_t connections);

    void violate(Nanos now, Invariant invariant, std::string sentence);

    [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

    // Around each write that the store carries out.
    void before_write(const core::Request& request);
    void after_write(Nanos now, const core::Request& request, const core::Answer& answer);

    // An operator has written a row.
    void operated(Nanos now, const ConnectionId& id) { check_row(now, id, false); }

    // A session is given, or keeps, the right to act.
    void acts(Nanos now, const SessionId& session);

    // A worker gives (connection, epoch) away by sending a verb; one opens it.
    void given_away(std::uint32_t connection, Epoch epoch);
    void opened(Nanos now, const core::ConnectionRow& row, const SessionId& session);

    [[nodiscard]] std::uint64_t owner_changes() const { return owner_changes_; }

    [[nodiscard]] std::uint64_t claims_done() const { return claims_done_; }

private:
    struct Known {
        Epoch epoch;
        core::Owner owner;
        std::optional<core::Cursor> cursor;
        std::set<std::uint64_t> given;                 // epochs
        std::map<std::uint64_t, SessionId> opened_by;  // by epoch
    };

    [[nodiscard]] Known& known(const ConnectionId& id);
    void check_row(Nanos now, const ConnectionId& id, bool may_claim);
    void check_session(Nanos now, const SessionId& id);

    const ModelStore& store_;
    std::vector<Known> known_;
    std::map<SessionId, core::SessionState> states_;  // of rows that there are
    std::set<SessionId> removed_;
    std::size_t rows_before_ = 0;
    std::uint64_t owner_changes_ = 0;
    std::uint64_t claims_done_ = 0;
    std::optional<Violation> violation_;
};

}  // namespace longhold::sim
