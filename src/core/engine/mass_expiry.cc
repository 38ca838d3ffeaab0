// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/mass_expiry.h>

namespace longhold::core {

bool MassExpiry::begins(std::size_t dead, std::size_t sessions, Instant now, Duration wait) {
    if (fence_at_ || dead <= 1 || 2 * dead < sessions) {
        return false;
    }
    fence_at_ = now + wait;
    return true;
}

void MassExpiry::fenced(Instant now, Duration pace) {
    if (fence_at_) {
        fence_at_ = now + pace;
    }
}

}  // namespace longhold::core
