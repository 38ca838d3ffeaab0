// SPDX-License-Identifier: Apache-2.0
// Runs commands in this process with a directory of their own, for tests.
#pragma once

#include <gtest/gtest.h>
#include <longhold/config/text_file.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "captured_console.h"
#include "commands.h"

namespace longhold::app {

// What a command printed and how it ended.
struct Ran {
    ExitCode code = ExitCode::done;
    std::string output;
    std::string errors;
};

class Tools : public testing::Test {
protected:
    Tools() {
        std::string pattern = (std::filesystem::temp_directory_path() / "longhold-tools-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
    }

    ~Tools() override { std::filesystem::remove_all(directory_); }

    // `on_write` is called after each write to standard output, with what stands there.
    Ran run(const std::vector<std::string>& words, const std::function<void(const std::string&)>& on_write = {}) {
        CapturedConsole console;
        console.terminal = terminal_;
        if (on_write) {
            console.on_write = [&] { on_write(console.output); };
        }
        Context context{.console = console,
                        .clock = clock_,
                        .environment = environment_,
                        .read_file = config::read_text_file,
                        .open_store = open_store_for_command,
                        .build = {}};
        Ran ran;
        ran.code = run_command_line(all_commands(), words, context);
        ran.output = console.output;
        ran.errors = console.errors;
        return ran;
    }

    std::string directory_;
    config::Environment environment_;
    bool terminal_ = false;
    runtime::SystemClock clock_;
};

}  // namespace longhold::app
