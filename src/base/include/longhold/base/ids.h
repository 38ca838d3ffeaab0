// SPDX-License-Identifier: Apache-2.0
// Strong identifiers: texts and numbers that the compiler does not let be mixed up.
//
// All are values: comparable, hashable, copied freely. No thread-safety beyond that of a value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace longhold {

// A text that names one kind of thing. An empty one means "none" where a field says so.
template <class Tag>
class Name {
public:
    Name() = default;

    explicit Name(std::string text) : text_(std::move(text)) {}

    explicit Name(std::string_view text) : text_(text) {}

    explicit Name(const char* text) : text_(text) {}

    [[nodiscard]] const std::string& text() const { return text_; }

    [[nodiscard]] bool empty() const { return text_.empty(); }

    friend auto operator<=>(const Name&, const Name&) = default;

private:
    std::string text_;
};

// A wanted long-lived WebSocket.
using ConnectionId = Name<struct ConnectionIdTag>;
// One membership of a worker in the store, fresh at each join.
using SessionId = Name<struct SessionIdTag>;
// A process that holds connections; stable across its sessions.
using WorkerId = Name<struct WorkerIdTag>;
// Marks one attempt of one verb, so that a writer knows its own write again after a lost answer.
using AttemptToken = Name<struct AttemptTokenTag>;

// Per-connection fencing number: +1 at each claim, never back. 0 means "never claimed".
struct Epoch {
    std::uint64_t value = 0;

    [[nodiscard]] Epoch next() const { return Epoch{value + 1}; }

    friend auto operator<=>(const Epoch&, const Epoch&) = default;
};

}  // namespace longhold

template <class Tag>
struct std::hash<longhold::Name<Tag>> {
    std::size_t operator()(const longhold::Name<Tag>& name) const noexcept {
        return std::hash<std::string>{}(name.text());
    }
};
