// SPDX-License-Identifier: Apache-2.0
// A spec document from words of the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace longhold::app {

// The document `json` (may be empty) with each "path=value" of `sets` applied in order; nothing after printing what is
// wrong.
[[nodiscard]] std::optional<std::string> spec_with_sets(std::string json, const std::vector<std::string>& sets,
                                                        Context& context);

}  // namespace longhold::app
