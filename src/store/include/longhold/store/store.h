// SPDX-License-Identifier: Apache-2.0
// Store: the contract that every ownership store keeps.
//
// Verbs on sessions, connections and cursor pages (not a key-value interface), each one conditional
// write per row. What a verb means is said at its type in core/verbs.h; every implementation passes
// the one contract suite in store/contract_test.h.
//
// Conditional writes never retry by themselves: a time-out after sending is `unknown`, and the
// engine reads back. Reads answer a Result; point reads and owned/unowned pages are consistent
// where rows decide, an index only nominates.
//
// Deadlines: each call ends by `deadline` (an unreachable store answers `unknown` or
// `unavailable`), never later by more than a scheduling delay. Thread-safety: one Store is used
// from the loop it was opened for; a call may overlap others. Lifetime: outlives its calls.
#pragma once

#include <longhold/base/time.h>
#include <longhold/core/rows.h>
#include <longhold/core/verbs.h>
#include <longhold/runtime/task.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace longhold::store {

// Named by what the caller can do about it, see remedy().
enum class Errc : std::uint8_t {
    unavailable,   // not reachable, locked or timed out
    throttled,     // asks for less
    not_found,     // no such table, file or row
    corrupt,       // a row that cannot be read
    incompatible,  // the store needs a newer or older program
    exists,        // it is there already
    invalid,       // the call's own words are wrong
};
enum class Remedy : std::uint8_t { retry, stop };
[[nodiscard]] Remedy remedy(Errc code);

struct Error {
    Errc code = Errc::unavailable;
    std::string detail;  // for people and logs; code never reads it
};
template <class T>
using Result = std::expected<T, Error>;

template <class T>
using Task = runtime::Task<T>;

// A page of rows in key order.
struct ConnectionPage {
    std::vector<core::ConnectionRow> rows;
    bool more = false;  // ask again with `after` = the last row's id
};

// What an operator wants of a connection.
struct PutConnection {
    ConnectionId id;
    core::Labels labels;
    std::string spec;
    core::DesiredState desired = core::DesiredState::started;
    // Refuse where a row that is not a tombstone exists.
    bool only_if_absent = false;
};

// What a filter on labels lets through: each pair must be equal. Empty lets everything through.
using Selector = core::Labels;

// The store's own record of itself.
struct StoreInfo {
    std::uint32_t schema_version = 0;
    std::uint32_t min_compatible_version = 0;
    std::uint32_t buckets = 0;      // of unowned rows, fixed at init
    std::uint64_t epoch_floor = 0;  // new rows begin at this epoch, above every purged one
};

class Store {
public:
    virtual ~Store() = default;

    // ---- sessions
    virtual Task<core::Outcome<core::SessionRow>> join(core::Join verb, Instant deadline) = 0;
    virtual Task<core::Outcome<core::SessionRow>> beat(core::Beat verb, Instant deadline) = 0;
    virtual Task<core::Outcome<core::SessionRow>> leave(core::Leave verb, Instant deadline) = 0;
    virtual Task<core::Outcome<core::SessionRow>> fence(core::Fence verb, Instant deadline) = 0;
    virtual Task<core::Outcome<core::SessionRow>> remove_session(core::RemoveSession verb, Instant deadline) = 0;
    virtual Task<Result<std::vector<core::SessionRow>>> list_sessions(Instant deadline) = 0;
    virtual Task<Result<std::optional<core::SessionRow>>> get_session(SessionId id, Instant deadline) = 0;
    // The rows that exist among `ids`, in any order.
    virtual Task<Result<std::vector<core::SessionRow>>> get_sessions(std::vector<SessionId> ids, Instant deadline) = 0;
    // Operator: asks the session to drain. Refused where the row is absent or final.
    virtual Task<core::Outcome<core::SessionRow>> request_drain(SessionId id, Instant deadline) = 0;

    // ---- ownership of connections; answers have one outcome per item, in order
    virtual Task<std::vector<core::Outcome<core::ConnectionRow>>> claim(std::vector<core::Claim> verbs,
                                                                        Instant deadline) = 0;
    virtual Task<std::vector<core::Outcome<core::ConnectionRow>>> release(std::vector<core::Release> verbs,
                                                                          Instant deadline) = 0;

    // ---- reading connections
    // Rows that are wanted and unowned (`none#`) in any of `buckets`, by id above `after`.
    virtual Task<Result<ConnectionPage>> list_unowned(std::vector<std::uint32_t> buckets, ConnectionId after,
                                                      std::uint32_t limit, Instant deadline) = 0;
    // Rows that name `session`, by id above `after`.
    virtual Task<Result<ConnectionPage>> list_owned(SessionId session, ConnectionId after, std::uint32_t limit,
                                                    Instant deadline) = 0;
    // The rows that exist among `ids`, tombstones too, in any order.
    virtual Task<Result<std::vector<core::ConnectionRow>>> get_connections(std::vector<ConnectionId> ids,
                                                                           Instant deadline) = 0;
    // All rows but tombstones (with them if asked), by id above `after`; `selector` is applied
    // before `limit`.
    virtual Task<Result<ConnectionPage>> list_connections(Selector selector, bool with_deleted, ConnectionId after,
                                                          std::uint32_t limit, Instant deadline) = 0;

    // ---- what operators want; never touches a session as owner, epoch, attempt or phase
    // Creates the row (epoch = the floor, owner by bucket) or replaces labels, spec and desired
    // state of the row that is there; revives a tombstone, keeping its epoch and cursor epoch
    // order. spec_revision rises only when the spec's text differs.
    virtual Task<core::Outcome<core::ConnectionRow>> put_connection(PutConnection verb, Instant deadline) = 0;
    // STARTED, STOPPED or DELETED. Refused where the row is absent, or a tombstone and `desired` is
    // not DELETED.
    virtual Task<core::Outcome<core::ConnectionRow>> set_desired(ConnectionId id, core::DesiredState desired,
                                                                 Instant deadline) = 0;
    // Removes unowned tombstones last updated before `before`, at most `limit`; first raises the
    // epoch floor above every one of them.
    virtual Task<Result<std::uint32_t>> purge_deleted(WallTime before, std::uint32_t limit, Instant deadline) = 0;

    // ---- cursor pages: one writer each (the session), written whole
    virtual Task<Result<void>> write_cursor_page(core::CursorPage page, Instant deadline) = 0;
    virtual Task<Result<std::vector<core::CursorPage>>> read_cursor_pages(SessionId session, Instant deadline) = 0;

    // ---- the store itself
    virtual Task<Result<StoreInfo>> info(Instant deadline) = 0;
};

}  // namespace longhold::store
