// SPDX-License-Identifier: Apache-2.0
// What goes into the ownership engine and what comes out: configuration, events, commands, and the requests to a store.
//
// All values. Whoever runs the engine carries commands out in order and brings every answer back as an event; nothing
// else happens between.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/core/hint.h>
#include <longhold/core/rows.h>
#include <longhold/core/verbs.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace longhold::core {

struct EngineConfig {
    WorkerId worker;
    std::uint32_t capacity = 10'000;
    std::uint64_t generation = 0;
    std::string version;
    std::string zone;
    std::string address;

    Duration lease = std::chrono::seconds{6};
    Duration heartbeat_every = std::chrono::seconds{2};
    double drift_max = 0.01;
    Duration margin = std::chrono::milliseconds{50};        // an observer waits so much longer
    Duration stop_margin = std::chrono::milliseconds{100};  // an owner stops so much earlier

    Duration unowned_every = std::chrono::milliseconds{500};
    Duration owned_every = std::chrono::seconds{2};
    Duration sweep_every = std::chrono::seconds{30};
    std::uint32_t page_size = 100;
    double jitter = 0.2;

    std::uint32_t buckets = 16;                                  // as the store says
    Duration look_every = std::chrono::milliseconds{100};        // while a heartbeat is due
    Duration mass_fence_every = std::chrono::milliseconds{100};  // between fences while many sessions look dead
    // Orphans that better placed sessions have not claimed: each of them is given a step, once it has had the time to
    // see the orphan (a poll of the unowned index, or two looks after a fence); after the bound anyone may.
    Duration rank_step = std::chrono::milliseconds{20};
    Duration rank_wait_max = std::chrono::milliseconds{500};

    // How long an owner may act after a heartbeat was sent.
    [[nodiscard]] Duration right_duration() const { return scale(lease, 1 - drift_max) - stop_margin; }

    // How long a counter must stand still before an observer fences its session.
    [[nodiscard]] Duration suspect_after(Duration stored_lease) const {
        return scale(std::max(stored_lease, lease), 1 + drift_max) + margin;
    }

    // How long other sessions may take to see that a bucket has an orphan, or that a session is final.
    [[nodiscard]] Duration seen_after_poll() const { return scale(unowned_every, 1 + jitter); }

    [[nodiscard]] Duration seen_after_fence() const { return 2 * look_every; }

    // An observer that has read no session for so long has not observed.
    [[nodiscard]] Duration outage() const { return lease / 2; }

    // One attempt of one call to the store.
    [[nodiscard]] Duration attempt_timeout() const { return lease / 6; }
};

// ---- requests
// --------------------------------------------------------------------------------------------------------

struct ListSessions {};

struct GetSession {
    SessionId session;
};

// The rows that exist among these: a close look at those that are watched.
struct GetSessions {
    std::vector<SessionId> ids;
};

struct Claims {
    std::vector<Claim> items;
};

struct Releases {
    std::vector<Release> items;
};

// Rows that are wanted and unowned, of some buckets.
struct ListUnowned {
    std::vector<std::uint32_t> buckets;
    ConnectionId after;
};

// Rows that name a session: one's own, or a final one.
struct ListOwned {
    SessionId session;
    ConnectionId after;
};

// Every row: the sweep that finds owners without a session row.
struct ListAll {
    ConnectionId after;
};

// What connections are read for.
enum class ReadPurpose : std::uint8_t {
    claim_read_back,    // claims whose outcome is unknown
    release_read_back,  // releases whose outcome is unknown
    orphan_reread,      // orphans before a late claim
    hint_released,      // connections that a peer says it has released to this session
    hint_changed,       // connections that somebody says have changed
};

struct GetConnections {
    std::vector<ConnectionId> ids;
    ReadPurpose purpose = ReadPurpose::orphan_reread;
};

// How far a final session's delivery was durable: its cursor pages, and what the sink knows.
struct ReadTakeover {
    SessionId session;
};

using Request = std::variant<Join, Beat, Leave, Fence, RemoveSession, ListSessions, GetSession, Claims, Releases,
                             ListUnowned, ListOwned, ListAll, GetConnections, ReadTakeover, GetSessions>;

// ---- answers
// ---------------------------------------------------------------------------------------------------------

// A read that gave no answer.
struct ReadFailed {};

struct SessionsRead {
    std::vector<SessionRow> rows;
};

struct SessionRead {
    std::optional<SessionRow> row;
};

struct RowsRead {
    std::vector<ConnectionRow> rows;
    bool more = false;
};

struct TakeoverRead {
    std::map<ConnectionId, Cursor> cursors;  // sequence_id 0: not known
};

using Answer = std::variant<ReadFailed, Outcome<SessionRow>, std::vector<Outcome<ConnectionRow>>, SessionsRead,
                            SessionRead, RowsRead, TakeoverRead>;

// ---- commands
// --------------------------------------------------------------------------------------------------------

using CallId = std::uint64_t;

// Ask the store; the answer comes back as Answered with the same id. A write without an answer by the timeout is an
// unknown Outcome.
struct Call {
    CallId id = 0;
    Request request;
    Duration timeout{};
};

// From now on the session may act until `deadline`.
struct ExtendRight {
    SessionId session;
    Instant deadline;
};

// Why a session, or its right on a connection, has ended.
enum class LossReason : std::uint8_t { expired, fenced, stolen, loops_stuck };
[[nodiscard]] std::string_view text(LossReason reason);

// The session may not act any more: revoke its right and reset all its sockets before anything else. Held connections
// are gone.
struct DropSession {
    SessionId session;
    LossReason reason = LossReason::expired;
};

// A new session id is needed, for joining (again): answer with Start.
struct WantSession {};

// Dial and hold; `row` names this session, with the epoch and the cursor to resume from.
struct OpenConnection {
    ConnectionRow row;
    bool held_before = false;  // it had an owner before, so that something may be missing
};

enum class CloseReason : std::uint8_t { stopped, deleted, drain };
[[nodiscard]] std::string_view text(CloseReason reason);

// Stop reading, flush, wait for acks, close the socket; then answer with Closed.
struct CloseConnection {
    ConnectionId connection;
    Epoch epoch;
    CloseReason reason = CloseReason::stopped;
    std::optional<Duration> within{};  // the longest wait for the upstream's answer; absent: as the profile says
};

// The row does not name us with this epoch any more: reset the socket, and drop what is not handed over.
struct AbortConnection {
    ConnectionId connection;
    Epoch epoch;
};

// The spec has changed: go on under the new one, in the same epoch.
struct UpdateConnection {
    ConnectionRow row;
};

// An operator asked this session to drain, through the store.
struct DrainAsked {};

// Nothing is held and nothing is being given away any more.
struct Drained {
    bool session_lost = false;  // the session was lost in the drain; what it still had is left to fencing
};

// The session is LEFT, or given up for good.
struct SessionEnded {
    bool left = false;
};

// Tell a peer, which listens at `address`. Nothing comes back, and nothing depends on it.
struct TellPeer {
    SessionId peer;
    std::string address;
    Hint hint;
};

// News for logs and metrics; nothing depends on it.
enum class News : std::uint8_t {
    joined,
    fenced_peer,
    fenced_absent,
    claim_won,
    claim_lost,
    claim_void,
    released,
    release_failed,
    removed_session,
    unknown_outcome,
    own_write_found,
    at_capacity,
    mass_expiry,
};
[[nodiscard]] std::string_view text(News news);

struct Notice {
    News news = News::joined;
    SessionId session;
    ConnectionId connection;
    Epoch epoch;
};

using Command = std::variant<Call, ExtendRight, DropSession, WantSession, OpenConnection, CloseConnection,
                             AbortConnection, UpdateConnection, TellPeer, DrainAsked, Drained, SessionEnded, Notice>;

// ---- events
// ----------------------------------------------------------------------------------------------------------

// Join as `session`, which must be fresh.
struct Start {
    SessionId session;
};

// Time has passed; see Engine::wake_at().
struct Tick {};

struct Answered {
    CallId id = 0;
    Answer answer;
};

// A connection that was told to close has: everything it took in is acked up to `cursor`, and its socket is closed.
struct Closed {
    ConnectionId connection;
    Epoch epoch;
    std::optional<Cursor> cursor;
};

// The I/O loop of these connections does not turn any more; its sockets are reset and its right is revoked.
struct LoopStuck {
    std::vector<Closed> connections;
};

// No I/O loop turns: keep no session.
struct AllLoopsStuck {};

// Take no new connections; heartbeats say DRAINING.
struct BeginDrain {};

// Close and release everything, in an order of its own. Requires BeginDrain before.
struct HandOver {
    Duration budget = std::chrono::seconds{20};           // for all connections
    std::map<ConnectionId, std::uint64_t> pending_bytes;  // received and not yet acked; none: nothing
};

// End the session. Nothing acts under it any more when this is said.
struct EndSession {};

// A peer said something. Bounded: with too many at a time the rest is left to the polls.
struct Hinted {
    Hint hint;
};

using Event =
    std::variant<Start, Tick, Answered, Closed, LoopStuck, AllLoopsStuck, BeginDrain, HandOver, EndSession, Hinted>;

}  // namespace longhold::core
