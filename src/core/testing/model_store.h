// SPDX-License-Identifier: Apache-2.0
// ModelStore: the store's rules as plain maps, for tests of the engine under virtual time. Says what each verb means,
// nothing more.
#pragma once

#include <longhold/core/engine_types.h>

#include <map>
#include <string>
#include <vector>

namespace longhold::core::testing {

class ModelStore {
public:
    std::map<SessionId, SessionRow> sessions;
    std::map<ConnectionId, ConnectionRow> connections;
    std::map<SessionId, std::map<ConnectionId, Cursor>> pages;
    std::uint64_t writes = 0;

    void put(const std::string& id, DesiredState desired = DesiredState::started);
    // What an operator's stop, start or delete does to the row.
    void want(const std::string& id, DesiredState desired);
    // Carries a request out, now.
    Answer apply(const Request& request, const EngineConfig& config);

private:
    Outcome<SessionRow> join(const Join& verb);
    Outcome<SessionRow> beat(const Beat& verb);
    Outcome<SessionRow> leave(const Leave& verb);
    Outcome<SessionRow> fence(const Fence& verb);
    Outcome<SessionRow> remove(const RemoveSession& verb);
    Outcome<ConnectionRow> claim(const Claim& verb);
    Outcome<ConnectionRow> release(const Release& verb);
};

}  // namespace longhold::core::testing
