// SPDX-License-Identifier: Apache-2.0
#include <longhold/sim/command_line.h>

#include <charconv>
#include <limits>

namespace longhold::sim {
namespace {

template <class Number>
bool read(std::string_view text, Number least, Number most, Number& number) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
        return false;
    }
    number = value;
    return true;
}

// Takes the value of an option in; false when it is none.
bool take(CommandLine& line, std::string_view option, std::string_view value) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max() / 2;
    if (option == "--seed") {
        return read<std::uint64_t>(value, 0, most, line.seed);
    }
    if (option == "--seeds") {
        return read<std::uint64_t>(value, 1, 100'000'000, line.seeds);
    }
    if (option == "--minutes") {
        return read<std::uint32_t>(value, 1, 60, line.minutes);
    }
    if (option == "--jobs") {
        return read<std::uint32_t>(value, 1, 1'024, line.jobs);
    }
    const auto wanted = scenario(value);
    line.scenario = wanted.value_or(line.scenario);
    return wanted.has_value();
}

}  // namespace

std::string_view usage() {
    return R"(usage: longhold-sim [OPTION…]

Runs fleets of the real ownership engine under virtual time, with faults drawn from a seed, and checks after every event
that nothing that Longhold promises is broken. docs/proof.md says what that proves.

  --seed N         the first seed (default 1)
  --seeds N        how many seeds, one after the other (default 1)
  --scenario NAME  mixed (default), crash, clocks, store, deploy, operator
  --minutes N      simulated minutes of each seed, 1 to 60 (default 10)
  --jobs N         threads (default: one per core); the result does not depend on it
  --trace          print every event and command; for one seed

The last line sums up. Exit: 0 all held, 2 usage, 3 something was violated or not tested.
)";
}

std::expected<CommandLine, std::string> parse(const std::vector<std::string>& words) {
    CommandLine line;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--help" || word == "-h") {
            line.help = true;
            continue;
        }
        if (word == "--trace") {
            line.trace = true;
            continue;
        }
        const auto equals = word.find('=');
        const std::string option = word.substr(0, equals);
        const bool known = option == "--seed" || option == "--seeds" || option == "--scenario" ||
                           option == "--minutes" || option == "--jobs";
        if (!known) {
            return std::unexpected("no option '" + word + "'");
        }
        if (equals == std::string::npos && i + 1 == words.size()) {
            return std::unexpected(option + " needs a value");
        }
        const std::string value = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
        if (!take(line, option, value)) {
            return std::unexpected(option + ": '" + value + "' is not possible");
        }
    }
    if (line.trace && line.seeds != 1) {
        return std::unexpected("--trace is for one seed");
    }
    return line;
}

std::string replay_command(const Plan& plan) {
    return "longhold-sim --scenario " + std::string{text(plan.scenario)} + " --minutes " +
           std::to_string(plan.run_for / (60 * second)) + " --seed " + std::to_string(plan.seed) + " --trace";
}

}  // namespace longhold::sim
