// SPDX-License-Identifier: Apache-2.0
#include "spec_sets.h"

#include <longhold/config/connection_spec.h>

#include <utility>

#include "output.h"

namespace longhold::app {

std::optional<std::string> spec_with_sets(std::string json, const std::vector<std::string>& sets, Context& context) {
    for (const auto& set : sets) {
        const auto equals = set.find('=');
        if (equals == std::string::npos) {
            print_problem(context.console, {.what = "\"" + set + "\" sets nothing: it has no \"=\"",
                                            .where = "--set",
                                            .remedy = "write it like --set sequence.field=/seq"});
            return std::nullopt;
        }
        auto next =
            config::spec_with(json, std::string_view{set}.substr(0, equals), std::string_view{set}.substr(equals + 1));
        if (!next) {
            print_problem(context.console, next.error());
            return std::nullopt;
        }
        json = std::move(*next);
    }
    return json;
}

}  // namespace longhold::app
