// SPDX-License-Identifier: Apache-2.0
// `longhold quickstart`.
#include <longhold/base/duration_text.h>
#include <longhold/fleet/quickstart.h>
#include <longhold/runtime/host.h>
#include <longhold/runtime/random_seed.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "commands.h"
#include "output.h"
#include "stop_signals.h"

namespace longhold::app {
namespace {

namespace fs = std::filesystem;

// A temporary directory that goes with this object.
class TemporaryDirectory {
public:
    TemporaryDirectory() : path_(fs::temp_directory_path() / ("longhold-quickstart-" + runtime::fresh_id())) {
        fs::create_directories(path_);
    }

    ~TemporaryDirectory() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

template <class Number>
bool read_number(const Arguments& arguments, std::string_view name, Number least, Number most, Number& number,
                 Context& context) {
    const auto text = arguments.last(name);
    if (!text) {
        return true;
    }
    Number value{};
    const char* const end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end || !(value >= least && value <= most)) {
        print_problem(context.console,
                      {.what = "\"" + *text + "\" is no value for --" + std::string{name},
                       .where = "command line",
                       .remedy = "give a number from " + std::to_string(least) + " to " + std::to_string(most)});
        return false;
    }
    number = value;
    return true;
}

bool read_duration(const Arguments& arguments, std::string_view name, Duration least, Duration& duration,
                   Context& context) {
    const auto text = arguments.last(name);
    if (!text) {
        return true;
    }
    const auto parsed = parse_duration(*text);
    if (!parsed || *parsed < least) {
        print_problem(context.console, {.what = parsed ? "--" + std::string{name} + " is too short" : parsed.error(),
                                        .where = "command line, --" + std::string{name},
                                        .remedy = "give at least " + format_duration(least)});
        return false;
    }
    duration = *parsed;
    return true;
}

// The directory to keep everything in: made if it is not there. False after printing what is wrong.
bool use_directory(const std::string& name, Context& context) {
    std::error_code error;
    fs::create_directories(name, error);
    if (error || !fs::is_directory(name)) {
        print_problem(context.console,
                      {.what = "the directory cannot be made" + (error ? ": " + error.message() : std::string{}),
                       .where = name,
                       .remedy = "give --keep a directory that can be written"});
        return false;
    }
    if (!fs::is_empty(name, error)) {
        print_problem(context.console,
                      {.what = "the directory is not empty",
                       .where = name,
                       .remedy = "give --keep a new or empty one: a proof must not find another run's files"});
        return false;
    }
    return true;
}

// Shows the run: lines for stages, and on a terminal a table that is drawn over again.
class Display {
public:
    Display(Console& console, bool table) : console_(console), table_(table) {}

    void stage(const std::string& text) {
        erase();
        console_.write_error(text + "\n");
    }

    void moment(const fleet::QuickstartMoment& moment) {
        if (!table_) {
            return;
        }
        erase();
        TextTable table{{"WORKER", "PID", "SESSION", "HOLDS"}};
        for (const auto& worker : moment.workers) {
            table.add({worker.name, std::to_string(worker.pid), worker.state, std::to_string(worker.held)});
        }
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(moment.elapsed).count();
        const std::string text = table.text(true) + std::to_string(seconds) + " s, " +
                                 std::to_string(moment.sockets_live) + " sockets live, " +
                                 std::to_string(moment.messages_sent) + " messages sent by the upstream\n";
        lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
        console_.write_error(text);
    }

    void erase() {
        if (lines_ > 0) {
            console_.write_error("\x1b[" + std::to_string(lines_) + "A\x1b[J");
            lines_ = 0;
        }
    }

private:
    Console& console_;
    bool table_;
    std::size_t lines_ = 0;
};

std::string milliseconds(const fleet::Spread& spread) {
    if (spread.count == 0) {
        return "none";
    }
    const auto text = [](std::int64_t micros) { return std::to_string((micros + 500) / 1000) + " ms"; };
    return "p50 " + text(spread.p50_us) + ", p99 " + text(spread.p99_us) + ", max " + text(spread.max_us) + " (" +
           std::to_string(spread.count) + " connections)";
}

std::string report(const fleet::ProofResult& proof) {
    std::string text = "\nProof, from the sink's files against the upstream's oracle:\n";
    const auto line = [&text](std::string_view name, const std::string& value) {
        text += "  " + std::string{name} + std::string(20 - name.size(), ' ') + value + "\n";
    };
    line("connections", std::to_string(proof.connections));
    line("delivered", std::to_string(proof.delivered));
    line("lost", std::to_string(proof.lost));
    line("redelivered", std::to_string(proof.redelivered));
    line("overlapping owners", std::to_string(proof.overlaps));
    line("crash recovery", milliseconds(proof.crash_recovery));
    line("handover gap", milliseconds(proof.handover_gap));
    for (const auto& failure : proof.failures) {
        line("FAILED", failure);
    }
    return text + (proof.holds() ? "The proof holds.\n" : "The proof does NOT hold.\n");
}

ExitCode run(const Arguments& arguments, Context& context) {
    fleet::QuickstartOptions options;
    options.program = runtime::own_program();
    if (!read_number<std::uint32_t>(arguments, "workers", 2, 100, options.workers, context) ||
        !read_number<std::uint32_t>(arguments, "connections", 1, 100'000, options.connections, context) ||
        !read_number<double>(arguments, "rate", 0.1, 100'000, options.rate, context) ||
        !read_duration(arguments, "duration", std::chrono::seconds{3}, options.duration, context) ||
        !read_duration(arguments, "lease", std::chrono::seconds{1}, options.lease, context)) {
        return ExitCode::usage;
    }
    runtime::raise_descriptor_limit();
    const StopSignals signals;  // until the temporary directory is gone
    options.stop_descriptor = signals.descriptor();
    const auto kept = arguments.last("keep");
    if (kept && !use_directory(*kept, context)) {
        return ExitCode::usage;
    }
    std::optional<TemporaryDirectory> temporary;
    options.directory = kept ? fs::absolute(*kept).string() : temporary.emplace().path().string();
    options.store_url = arguments.last("store").value_or("sqlite:" + options.directory + "/store.db");
    options.name_space = "quickstart-" + runtime::fresh_id();

    const bool json = arguments.last("o") == "json";
    Display display{context.console, context.console.error_is_terminal()};
    const auto proof = fleet::run_quickstart(options, context.clock,
                                             {.stage = [&display](const std::string& text) { display.stage(text); },
                                              .moment = [&display](const auto& moment) { display.moment(moment); }});
    display.erase();
    if (!proof) {
        print_problem(context.console, {.what = "quickstart could not be carried out: " + proof.error(),
                                        .where = options.directory,
                                        .remedy = kept ? "see the workers' logs there"
                                                       : "run it again with --keep DIR to see the logs"});
        return ExitCode::failed;
    }
    context.console.write(json ? fleet::proof_json(*proof, 0) + "\n" : report(*proof));
    if (kept && !json) {
        context.console.write("Kept in " + options.directory + "; check it with: tests/e2e/check_proof " +
                              options.directory + "\n");
    }
    return proof->holds() ? ExitCode::done : ExitCode::proof_failed;
}

}  // namespace

Registry quickstart_commands() {
    return {
        {.path = "quickstart",
         .summary = "Run a fleet here, kill one worker, drain another, and prove that nothing was lost",
         .examples = "longhold quickstart\n"
                     "longhold quickstart --workers 5 --connections 500 --rate 50 --duration 1m\n"
                     "longhold quickstart --keep proof -o json && tests/e2e/check_proof proof",
         .options = {{.name = "workers", .value = "N", .help = "worker processes at the start (3)"},
                     {.name = "connections", .value = "N", .help = "connections to hold (60)"},
                     {.name = "rate", .value = "N", .help = "messages per second of each connection (20)"},
                     {.name = "duration", .value = "TIME", .help = "of the load, without what recovery takes (20s)"},
                     {.name = "lease", .value = "TIME", .help = "lease of the workers (6s)"},
                     {.name = "keep", .value = "DIR", .help = "leave records, oracle, store dump and logs in DIR"},
                     {.name = "store", .value = "URL", .help = "a store to use instead of one of its own"},
                     output_option()},
         .run = run}};
}

}  // namespace longhold::app
