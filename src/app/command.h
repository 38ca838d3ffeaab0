// SPDX-License-Identifier: Apache-2.0
// Command: one thing that the program can be told to do, described as data, so that parsing, help, completion and the
// test of the docs come from one place.
#pragma once

#include <longhold/config/references.h>
#include <longhold/config/text_file.h>
#include <longhold/runtime/clock.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console.h"
#include "store_opener.h"

namespace longhold::app {

enum class ExitCode : std::uint8_t { done = 0, failed = 1, usage = 2, proof_failed = 3 };

struct OptionSpec {
    std::string name;     // "label" for --label; one letter for -o
    std::string value{};  // what its value is called, such as "KEY=VALUE"; empty: it is a flag
    std::string help{};
    bool repeats = false;
    std::vector<std::string> choices{};  // empty: any value
};

struct PositionalSpec {
    std::string name;  // "ID"
    std::string help{};
    bool required = true;
    bool repeats = false;
};

// What was given for a command. Names without dashes.
class Arguments {
public:
    std::map<std::string, std::vector<std::string>, std::less<>> values;

    [[nodiscard]] bool has(std::string_view name) const { return values.contains(name); }

    [[nodiscard]] std::vector<std::string> all(std::string_view name) const {
        const auto found = values.find(name);
        return found == values.end() ? std::vector<std::string>{} : found->second;
    }

    // The last value given.
    [[nodiscard]] std::optional<std::string> last(std::string_view name) const {
        const auto found = values.find(name);
        return found == values.end() || found->second.empty() ? std::nullopt : std::optional{found->second.back()};
    }
};

// What this program was built as and with; main() fills it in.
struct BuildInfo {
    std::string version;
    std::string build_type;
    std::string compiler;
    std::vector<std::string> stores;
    std::vector<std::string> sinks;
};

// What commands work with; main() builds it.
struct Context {
    Console& console;
    const runtime::Clock& clock;
    config::Environment environment;
    config::FileReader read_file;
    StoreOpener open_store;
    BuildInfo build;
};

struct Command {
    std::string path;  // "connection put"
    std::string summary;
    std::string examples;   // lines of shell
    std::string details{};  // more of the help, after the examples
    std::vector<PositionalSpec> positionals{};
    std::vector<OptionSpec> options{};
    std::function<ExitCode(const Arguments& arguments, Context& context)> run;
};

using Registry = std::vector<Command>;

// Parses `words` (without the program's name), and runs the command they name. Prints help, the version and errors of
// usage.
[[nodiscard]] ExitCode run_command_line(const Registry& registry, const std::vector<std::string>& words,
                                        Context& context);

// What --version prints.
[[nodiscard]] std::string version_text(const BuildInfo& build);

}  // namespace longhold::app
