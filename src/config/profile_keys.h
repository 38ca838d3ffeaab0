// SPDX-License-Identifier: Apache-2.0
// Every key of a profile, and putting a document's keys into a profile.
#pragma once

#include <longhold/config/profile.h>

#include <string>
#include <vector>

#include "key_table.h"

namespace longhold::config {

[[nodiscard]] const std::vector<Key<Profile>>& profile_table();

// Sets the keys of `root` in `profile`: headers by name without regard to case, lists whole, and one resume form
// replaces the other. Keys at `others` are known and left alone. Problems name `source`.
void apply_profile_keys(Profile& profile, const Node& root, const std::string& source, Problems& problems,
                        std::span<const std::string> others = {});

}  // namespace longhold::config
