// SPDX-License-Identifier: Apache-2.0
// A spec that is part of a larger document.
#pragma once

#include <longhold/config/connection_spec.h>

#include "node.h"

namespace longhold::config {

[[nodiscard]] std::expected<ConnectionSpec, Problems> spec_from_node(const Node& root, const std::string& source);

}  // namespace longhold::config
