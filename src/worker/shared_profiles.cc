// SPDX-License-Identifier: Apache-2.0
#include "shared_profiles.h"

#include <algorithm>
#include <utility>

namespace longhold::worker {

std::shared_ptr<const config::Profile> SharedProfiles::share(config::Profile profile) {
    if (const auto known = profiles_.find(profile); known != profiles_.end()) {
        return *known;
    }
    if (profiles_.size() >= look_at_) {
        drop_unused();
        look_at_ = std::max<std::size_t>(16, profiles_.size() * 2);
    }
    return *profiles_.insert(std::make_shared<const config::Profile>(std::move(profile))).first;
}

void SharedProfiles::drop_unused() {
    std::erase_if(profiles_, [](const auto& profile) { return profile.use_count() == 1; });
}

}  // namespace longhold::worker
