// SPDX-License-Identifier: Apache-2.0
// SharedProfiles: one copy of each distinct profile that the connections of a loop are dialled by, so that ten thousand
// connections of one kind keep one.
//
// Thread-safety: none; lives on its IoLoop.
#pragma once

#include <longhold/config/profile.h>

#include <cstddef>
#include <memory>
#include <set>

namespace longhold::worker {

class SharedProfiles {
public:
    // The kept copy of `profile`. It stays for as long as somebody has it.
    [[nodiscard]] std::shared_ptr<const config::Profile> share(config::Profile profile);

    [[nodiscard]] std::size_t size() const { return profiles_.size(); }

private:
    struct ByContent {
        using is_transparent = void;

        bool operator()(const auto& a, const auto& b) const { return content(a) < content(b); }

        static const config::Profile& content(const config::Profile& profile) { return profile; }

        static const config::Profile& content(const std::shared_ptr<const config::Profile>& profile) {
            return *profile;
        }
    };

    void drop_unused();

    std::set<std::shared_ptr<const config::Profile>, ByContent> profiles_;
    std::size_t look_at_ = 16;  // the size at which unused ones are looked for
};

}  // namespace longhold::worker
