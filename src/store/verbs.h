// SPDX-License-Identifier: Apache-2.0
// The Store's calls over Rows, on the calling thread. An error of a write means that its outcome is unknown.
#pragma once

#include <longhold/core/verbs.h>
#include <longhold/store/store.h>

#include <optional>
#include <string>
#include <vector>

#include "rows.h"

namespace longhold::store::verbs {

using Session = core::Outcome<core::SessionRow>;
using Connection = core::Outcome<core::ConnectionRow>;

[[nodiscard]] Result<Session> join(Rows& rows, const core::Join& verb);
[[nodiscard]] Result<Session> beat(Rows& rows, const core::Beat& verb);
[[nodiscard]] Result<Session> leave(Rows& rows, const core::Leave& verb);
[[nodiscard]] Result<Session> fence(Rows& rows, const core::Fence& verb);
[[nodiscard]] Result<Session> remove_session(Rows& rows, const core::RemoveSession& verb);
[[nodiscard]] Result<std::vector<core::SessionRow>> get_sessions(Rows& rows, const std::vector<SessionId>& ids);
[[nodiscard]] Result<Session> request_drain(Rows& rows, const SessionId& id);

[[nodiscard]] Result<std::vector<Connection>> claim(Rows& rows, const std::vector<core::Claim>& verbs);
[[nodiscard]] Result<std::vector<Connection>> release(Rows& rows, const std::vector<core::Release>& verbs);

[[nodiscard]] Result<ConnectionPage> list_unowned(Rows& rows, const std::vector<std::uint32_t>& buckets,
                                                  const ConnectionId& after, std::uint32_t limit);
[[nodiscard]] Result<ConnectionPage> list_owned(Rows& rows, const SessionId& session, const ConnectionId& after,
                                                std::uint32_t limit);
[[nodiscard]] Result<std::vector<core::ConnectionRow>> get_connections(Rows& rows,
                                                                       const std::vector<ConnectionId>& ids);
[[nodiscard]] Result<ConnectionPage> list_connections(Rows& rows, const Selector& selector, bool with_deleted,
                                                      const ConnectionId& after, std::uint32_t limit);

[[nodiscard]] Result<Connection> put_connection(Rows& rows, const PutConnection& verb);
[[nodiscard]] Result<Connection> set_desired(Rows& rows, const ConnectionId& id, core::DesiredState desired);
[[nodiscard]] Result<std::uint32_t> purge_deleted(Rows& rows, WallTime before, std::uint32_t limit);

[[nodiscard]] Result<void> write_cursor_page(Rows& rows, const core::CursorPage& page);

}  // namespace longhold::store::verbs
