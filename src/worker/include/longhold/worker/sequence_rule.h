// SPDX-License-Identifier: Apache-2.0
// How a profile's upstream counts, as the sequencer takes it.
#pragma once

#include <longhold/config/profile.h>
#include <longhold/core/sequencer.h>

namespace longhold::worker {

[[nodiscard]] core::SequenceRule sequence_rule_of(const config::Profile& profile);

}  // namespace longhold::worker
