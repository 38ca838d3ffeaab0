// SPDX-License-Identifier: Apache-2.0
// Marks: the rare situations that a run of seeds must have been in, with how often it was.
#pragma once

#include <longhold/base/sometimes.h>
#include <longhold/core/engine_types.h>

#include <cstdint>
#include <map>
#include <string_view>

namespace longhold::sim {

class Marks final : public MarkObserver {
public:
    Marks();

    void reached(std::string_view mark) override;

    [[nodiscard]] const std::map<std::string_view, std::uint64_t>& counts() const { return counts_; }

private:
    std::map<std::string_view, std::uint64_t> counts_;
};

// Says what of an engine's commands is rare.
void mark_command(const core::Command& command);

}  // namespace longhold::sim
