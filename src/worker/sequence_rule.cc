// SPDX-License-Identifier: Apache-2.0
#include <longhold/worker/sequence_rule.h>

namespace longhold::worker {

core::SequenceRule sequence_rule_of(const config::Profile& profile) {
    core::SequenceRule rule;
    rule.has_sequence = profile.has_sequence();
    rule.first = profile.sequence.first;
    if (profile.can_resume()) {
        rule.resume = profile.resume.inclusive ? core::Resume::inclusive : core::Resume::exclusive;
    }
    return rule;
}

}  // namespace longhold::worker
