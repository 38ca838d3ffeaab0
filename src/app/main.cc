// SPDX-License-Identifier: Apache-2.0
// main(): builds what commands work with, and is the only place that catches what they throw.
#include <longhold/runtime/clock.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include "build_info.h"
#include "commands.h"

extern char** environ;

namespace longhold::app {
namespace {

config::Environment read_environment() {
    config::Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        const auto equals = text.find('=');
        if (equals != std::string_view::npos) {
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return environment;
}

int run(const std::vector<std::string>& words, SystemConsole& console) {
    const runtime::SystemClock clock;
    Context context{.console = console,
                    .clock = clock,
                    .environment = read_environment(),
                    .read_file = config::read_text_file,
                    .open_store = open_store_for_command,
                    .build = build_info()};
    const ExitCode code = run_command_line(all_commands(), words, context);
    if (console.broken() != 0 && console.broken() != EPIPE) {
        console.write_error("longhold: the output cannot be written: " + std::string{std::strerror(console.broken())} +
                            " (standard output): make room there, or write elsewhere\n");
        return static_cast<int>(std::max(code, ExitCode::failed));
    }
    return static_cast<int>(code);
}

}  // namespace
}  // namespace longhold::app

int main(int count, char** words) {
    // A reader of our output that leaves, and a peer that resets a socket, are errors of a write, not the end of the
    // process.
    (void)std::signal(SIGPIPE, SIG_IGN);
    longhold::app::SystemConsole console;
    try {
        return longhold::app::run({words + 1, words + count}, console);
    } catch (const std::exception& error) {
        console.write_error(std::string{"longhold: "} + error.what() +
                            " (unexpected): this is a defect; please report it with the command that shows it\n");
        return static_cast<int>(longhold::app::ExitCode::failed);
    }
}
