// SPDX-License-Identifier: Apache-2.0
// `longhold config check` and `longhold config explain`.
#include <longhold/config/explain.h>

#include "command_settings.h"
#include "commands.h"

namespace longhold::app {
namespace {

ExitCode check(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return ExitCode::usage;
    }
    const auto profiles = load_command_profiles(*settings, context);
    if (!profiles) {
        return ExitCode::usage;
    }
    context.console.write("ok: " + std::to_string(settings->origins.size()) + " settings, " +
                          std::to_string(profiles->size()) + (profiles->size() == 1 ? " profile\n" : " profiles\n"));
    return ExitCode::done;
}

ExitCode explain(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return ExitCode::usage;
    }
    context.console.write(arguments.last("o") == "json" ? config::explain_json(*settings)
                                                        : config::explain_table(*settings));
    return ExitCode::done;
}

}  // namespace

Registry config_commands() {
    auto explain_options = settings_options();
    explain_options.push_back({.name = "o",
                               .value = "FORMAT",
                               .help = "table (for people) or json (one document)",
                               .choices = {"table", "json"}});
    return {{.path = "config check",
             .summary = "Say everything that is wrong with the settings and profiles",
             .examples = "longhold config check --config longhold.toml\n"
                         "longhold config check --set lease.duration=10s",
             .options = settings_options(),
             .run = check},
            {.path = "config explain",
             .summary = "Show every setting, its value and where that comes from",
             .examples = "longhold config explain --config longhold.toml\n"
                         "LONGHOLD_LEASE__DURATION=10s longhold config explain -o json",
             .options = std::move(explain_options),
             .run = explain}};
}

}  // namespace longhold::app
