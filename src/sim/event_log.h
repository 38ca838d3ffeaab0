// SPDX-License-Identifier: Apache-2.0
// EventLog: everything that goes into the engines and comes out of them, in order: as one hash, which tells whether two
// runs were the same, and as lines for people when they are wanted.
#pragma once

#include <longhold/core/engine_types.h>
#include <longhold/sim/plan.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace longhold::sim {

class EventLog {
public:
    // `lines`: given each line; nothing is formatted when it is empty.
    explicit EventLog(std::function<void(const std::string&)> lines) : lines_(std::move(lines)) {}

    void event(Nanos now, std::uint32_t process, const core::Event& event);
    void command(Nanos now, std::uint32_t process, const core::Command& command);
    // What happens around the engines.
    void note(Nanos now, std::string_view what, std::uint64_t a, std::uint64_t b = 0);

    [[nodiscard]] std::uint64_t hash() const { return hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
    std::function<void(const std::string&)> lines_;
};

}  // namespace longhold::sim
