// SPDX-License-Identifier: Apache-2.0
// main(): builds what commands work with, and is the only place that catches what they throw.
#include <fcntl.h>
#include <longhold/runtime/clock.h>

#include <algorithm>
#include <array>
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

// A descriptor from 0 to 2 that the starter closed would be given to the next file or socket, and what is meant for
// people would be written there. Reading standard input and writing standard output still fail, as they do when closed.
void open_missing_standard_descriptors() {
    constexpr std::array modes{O_WRONLY, O_RDONLY, O_RDWR};
    for (int descriptor = 0; descriptor < static_cast<int>(modes.size()); ++descriptor) {
        if (::fcntl(descriptor, F_GETFD) == -1) {
            // open() gives the lowest one that is free.
            static_cast<void>(::open("/dev/null", modes.at(static_cast<std::size_t>(descriptor))));
        }
    }
}

}  // namespace
}  // namespace longhold::app

int main(int count, char** words) {
    longhold::app::open_missing_standard_descriptors();
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
