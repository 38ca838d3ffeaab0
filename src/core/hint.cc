// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/hint.h>

#include <utility>

namespace longhold::core {

std::string_view text(HintKind kind) {
    switch (kind) {
        case HintKind::released:
            return "released";
        case HintKind::changed:
            return "changed";
        case HintKind::fenced:
            return "fenced";
        case HintKind::draining:
            return "draining";
    }
    std::unreachable();
}

std::optional<HintKind> hint_kind(std::string_view text_given) {
    for (const auto kind : {HintKind::released, HintKind::changed, HintKind::fenced, HintKind::draining}) {
        if (text(kind) == text_given) {
            return kind;
        }
    }
    return std::nullopt;
}

}  // namespace longhold::core
