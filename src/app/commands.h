// SPDX-License-Identifier: Apache-2.0
// The commands, one function and one file per group. A new group: a file, a declaration here, a line in all_commands().
#pragma once

#include "command.h"

namespace longhold::app {

[[nodiscard]] Registry connection_commands();   // put get list start stop delete
[[nodiscard]] Registry transfer_commands();     // connection import export
[[nodiscard]] Registry config_commands();       // check explain
[[nodiscard]] Registry profile_commands();      // list show
[[nodiscard]] Registry profile_try_commands();  // profile try
[[nodiscard]] Registry store_commands();        // init check migrate dump
[[nodiscard]] Registry mock_commands();         // mock-upstream
[[nodiscard]] Registry quickstart_commands();   // quickstart
[[nodiscard]] Registry serve_commands();        // serve
// `completion`, which prints scripts for the commands of `others` and itself.
[[nodiscard]] Registry completion_commands(const Registry& others);

// All of them, in the order of `longhold --help`.
[[nodiscard]] Registry all_commands();

}  // namespace longhold::app
