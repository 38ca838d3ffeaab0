// SPDX-License-Identifier: Apache-2.0
// What a step of the start or the stop answers.
#pragma once

#include <expected>
#include <string>

namespace longhold::lifecycle {

// Done; or, as words for the log, what went wrong or was not finished.
using StepResult = std::expected<void, std::string>;

}  // namespace longhold::lifecycle
