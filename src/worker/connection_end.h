// SPDX-License-Identifier: Apache-2.0
// How a socket ended, in the words of the backoff and of people.
#pragma once

#include <longhold/core/backoff.h>
#include <longhold/upstream/connection.h>

#include <string>

namespace longhold::worker {

[[nodiscard]] core::ConnectionEnd end_of(const upstream::Ended& ended);

// What broke, and the beginning of what a server that refused the upgrade said of it.
[[nodiscard]] std::string detail_of(const upstream::Ended& ended);

}  // namespace longhold::worker
