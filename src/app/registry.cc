// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "commands.h"

namespace longhold::app {
namespace {

void append(Registry& registry, Registry more) {
    registry.insert(registry.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Registry all_commands() {
    Registry registry;
    append(registry, quickstart_commands());
    append(registry, serve_commands());
    append(registry, connection_commands());
    append(registry, transfer_commands());
    append(registry, profile_commands());
    append(registry, profile_try_commands());
    append(registry, store_commands());
    append(registry, mock_commands());
    append(registry, config_commands());
    append(registry, completion_commands(registry));
    return registry;
}

}  // namespace longhold::app
