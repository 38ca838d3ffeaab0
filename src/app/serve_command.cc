// SPDX-License-Identifier: Apache-2.0
// `longhold serve`.
#include "command_settings.h"
#include "commands.h"
#include "serve_process.h"

namespace longhold::app {
namespace {

ExitCode serve(const Arguments& arguments, Context& context) {
    auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return ExitCode::usage;
    }
    auto profiles = load_command_profiles(*settings, context);
    if (!profiles) {
        return ExitCode::usage;
    }
    const auto reload = [arguments, &context]() -> std::expected<config::Settings, std::string> {
        auto fresh = load_command_settings(arguments, context);
        if (!fresh) {
            return std::unexpected("the settings have the problems that stand above");
        }
        return std::move(*fresh);
    };
    ServeProcess process{std::move(*settings), std::move(*profiles), reload, context};
    return static_cast<ExitCode>(process.run());
}

}  // namespace

Registry serve_commands() {
    return {{.path = "serve",
             .summary = "Run a worker: claim connections, hold their sockets, deliver messages",
             .examples =
                 "longhold serve\n"
                 "longhold serve --config longhold.toml\n"
                 "longhold serve --set store.url=sqlite:/var/lib/longhold/fleet.db --set worker.max_connections=2000",
             .options = settings_options(),
             .run = serve}};
}

}  // namespace longhold::app
