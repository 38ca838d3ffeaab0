// SPDX-License-Identifier: Apache-2.0
// What this program was built as and with.
#pragma once

#include "command.h"

namespace longhold::app {

[[nodiscard]] BuildInfo build_info();

}  // namespace longhold::app
