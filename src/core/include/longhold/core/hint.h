// SPDX-License-Identifier: Apache-2.0
// Hint: what one worker tells another directly, so that it need not wait for its next poll (rule 12).
//
// A hint is never trusted for safety: whoever gets one reads the store and decides by what it finds there. One that is
// lost, late, repeated or made up costs time or a read. Polling makes sure of what hints make fast.
#pragma once

#include <longhold/base/ids.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::core {

enum class HintKind : std::uint8_t {
    released,  // these connections are unowned now, and the receiver is best placed for them
    changed,   // what is wanted of these connections has changed
    fenced,    // the session is FENCED, and what it owned can be claimed
    draining,  // the session takes nothing any more, and will give away what it has
};

// "released", "changed", "fenced", "draining": as on the wire and in metrics.
[[nodiscard]] std::string_view text(HintKind kind);
[[nodiscard]] std::optional<HintKind> hint_kind(std::string_view text);

// The most connections that one hint names. More are told in several.
inline constexpr std::size_t hint_connections_max = 100;

struct Hint {
    HintKind kind = HintKind::changed;
    SessionId session;  // the one that it is about; of `released` and `changed` the sender's
    std::vector<ConnectionId> connections{};

    friend bool operator==(const Hint&, const Hint&) = default;
};

}  // namespace longhold::core
