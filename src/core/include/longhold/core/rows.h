// SPDX-License-Identifier: Apache-2.0
// The rows of the ownership protocol, as every store keeps them: session, connection, cursor page.
//
// Values without behaviour beyond their own consistency. Protocol: DESIGN section 4 and
// docs/protocol/ownership.md.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

// LEFT and FENCED are final: such a session never acts again, and what it owns are orphans.
enum class SessionState : std::uint8_t { active, draining, left, fenced };

[[nodiscard]] constexpr bool is_final(SessionState state) {
    return state == SessionState::left || state == SessionState::fenced;
}

// "ACTIVE", "DRAINING", "LEFT", "FENCED": as stores and people see it.
[[nodiscard]] std::string_view text(SessionState state);
[[nodiscard]] std::optional<SessionState> session_state(std::string_view text);

// One membership of a worker in the store.
struct SessionRow {
    SessionId id;
    WorkerId worker_id;
    std::uint64_t counter = 0;  // +1 at each heartbeat
    AttemptToken attempt;       // of the write that made the row what it is
    Duration lease{};           // how long the session may act after a heartbeat was sent
    Duration heartbeat_every{};
    SessionState state = SessionState::active;
    bool drain_requested = false;
    std::uint32_t capacity = 0;  // connections that it is willing to hold
    std::uint32_t load = 0;      // connections that it holds
    std::uint64_t generation = 0;
    std::string version;
    std::string zone;
    std::string address;

    friend bool operator==(const SessionRow&, const SessionRow&) = default;
};

enum class DesiredState : std::uint8_t { started, stopped, deleted };

// "STARTED", "STOPPED", "DELETED".
[[nodiscard]] std::string_view text(DesiredState state);
[[nodiscard]] std::optional<DesiredState> desired_state(std::string_view text);

// How far delivery is durable. Ordered by (epoch, ordinal), never by value: values restart, and
// opaque ones have no order.
struct Cursor {
    std::uint64_t sequence_id = 0;  // of what is counted, see core::sequence_id(); 0: not known
    Epoch epoch;
    std::uint64_t ordinal = 0;  // the record's number within its epoch, from 1
    std::uint32_t stream = 0;   // run of the upstream's sequence, from 1
    std::string value;          // what the upstream resumes from; empty when it cannot

    friend bool operator==(const Cursor&, const Cursor&) = default;
};

// Whether `a` is further than `b`; any cursor is further than none.
[[nodiscard]] bool further(const std::optional<Cursor>& a, const std::optional<Cursor>& b);

// Whether `a` is further than `b` by (epoch, ordinal).
[[nodiscard]] constexpr bool further(const Cursor& a, const Cursor& b) {
    return a.epoch != b.epoch ? a.epoch > b.epoch : a.ordinal > b.ordinal;
}

// Who a connection row names: a session, or nobody. An unowned row lies in a bucket, so that no
// index partition is hot: `none#07` when it is wanted, `off#07` when it is not. Which of the two
// follows from the desired state, and the verb that changes the desired state of an unowned row
// moves it; only ownership verbs ever replace or set a session.
class Owner {
public:
    // Requires a session id that is not empty and does not begin with "none#" or "off#".
    [[nodiscard]] static Owner session(const SessionId& id);
    [[nodiscard]] static Owner nobody(DesiredState desired, std::uint32_t bucket);
    // Takes the stored text back.
    [[nodiscard]] static Owner from_text(std::string text);

    Owner() = default;

    [[nodiscard]] bool is_session() const;

    [[nodiscard]] bool is(const SessionId& id) const { return is_session() && text_ == id.text(); }

    // The session's id; empty when nobody owns the row.
    [[nodiscard]] SessionId session_id() const;

    [[nodiscard]] const std::string& text() const { return text_; }

    friend auto operator<=>(const Owner&, const Owner&) = default;

private:
    explicit Owner(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

// The bucket of a connection: stable_hash(id) % buckets. Requires buckets > 0.
[[nodiscard]] std::uint32_t bucket_of(const ConnectionId& id, std::uint32_t buckets);

using Labels = std::map<std::string, std::string>;

// A wanted connection, and who owns it. Only ownership verbs write owner (beyond the bucket),
// epoch, attempt and phase.
struct ConnectionRow {
    ConnectionId id;
    Labels labels;
    std::string spec;                 // one JSON document; opaque to the protocol and to stores
    std::uint64_t spec_revision = 0;  // +1 at each change of spec
    DesiredState desired = DesiredState::started;
    Owner owner;
    Epoch epoch;
    AttemptToken attempt;  // of the ownership verb that made owner and epoch what they are
    std::string phase;     // of a handover; empty outside one
    std::string offer;     // of a handover; empty outside one
    std::optional<Cursor> cursor;
    std::uint32_t stability = 0;  // strikes; 0 is stable
    WallTime updated_at{};        // for people

    friend bool operator==(const ConnectionRow&, const ConnectionRow&) = default;
};

struct CursorEntry {
    ConnectionId id;
    Cursor cursor;  // counts only while the connection row names the page's session and cursor.epoch

    friend bool operator==(const CursorEntry&, const CursorEntry&) = default;
};

// Some moving cursors of one session, written whole, so that checkpoints cost one write per page
// and not per message.
struct CursorPage {
    SessionId session;
    std::uint32_t number = 0;
    std::vector<CursorEntry> entries;

    friend bool operator==(const CursorPage&, const CursorPage&) = default;
};

}  // namespace longhold::core
