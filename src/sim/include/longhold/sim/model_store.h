// SPDX-License-Identifier: Apache-2.0
// ModelStore: the store's rules as plain maps, for the engine under virtual time. Says what each verb means, nothing
// more.
#pragma once

#include <longhold/core/engine_types.h>

#include <map>
#include <string>
#include <vector>

namespace longhold::sim {

class ModelStore {
public:
    using Connections = std::map<ConnectionId, core::ConnectionRow>;

    std::map<SessionId, core::SessionRow> sessions;
    Connections connections;
    std::map<SessionId, std::map<ConnectionId, core::Cursor>> pages;
    std::uint64_t writes = 0;

    void put(const std::string& id, core::DesiredState desired = core::DesiredState::started);
    // What an operator's stop, start or delete does to the row.
    void want(const std::string& id, core::DesiredState desired);
    // Carries a request out, now.
    core::Answer apply(const core::Request& request, const core::EngineConfig& config);
    // What an index read (ListUnowned, ListOwned) finds in these rows.
    [[nodiscard]] static core::RowsRead read_index(const core::Request& request, const Connections& rows,
                                                   std::uint32_t limit);
    // Writes a cursor page's entries; nothing when the session's row is gone.
    void write_page(const SessionId& session, const std::vector<core::CursorEntry>& entries);

private:
    core::Outcome<core::SessionRow> join(const core::Join& verb);
    core::Outcome<core::SessionRow> beat(const core::Beat& verb);
    core::Outcome<core::SessionRow> leave(const core::Leave& verb);
    core::Outcome<core::SessionRow> fence(const core::Fence& verb);
    core::Outcome<core::SessionRow> remove(const core::RemoveSession& verb);
    core::Outcome<core::ConnectionRow> claim(const core::Claim& verb);
    core::Outcome<core::ConnectionRow> release(const core::Release& verb);
};

}  // namespace longhold::sim
