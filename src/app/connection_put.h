// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command.h"

namespace longhold::app {

[[nodiscard]] Command connection_put_command();

}  // namespace longhold::app
