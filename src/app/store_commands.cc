// SPDX-License-Identifier: Apache-2.0
// `longhold store init|check|migrate|dump`.
#include <longhold/base/duration_text.h>
#include <longhold/base/json_text.h>
#include <longhold/store/admin.h>

#include <charconv>
#include <optional>

#include "command_settings.h"
#include "commands.h"

namespace longhold::app {
namespace {

namespace admin = store::admin;

// The store that the arguments name; nothing after printing what is wrong.
std::optional<store::StoreOptions> options_of(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return std::nullopt;
    }
    store::StoreOptions options;
    options.url = settings->store.url;
    options.ns = settings->store.name_space;
    const auto buckets = arguments.last("buckets");
    if (!buckets) {
        return options;
    }
    const char* const end = buckets->data() + buckets->size();
    const auto [stopped, failure] = std::from_chars(buckets->data(), end, options.buckets);
    if (failure != std::errc{} || stopped != end) {
        print_problem(context.console, {.what = "\"" + *buckets + "\" is no number of buckets",
                                        .where = "--buckets",
                                        .remedy = "give a whole number from 1 to 1024"});
        return std::nullopt;
    }
    return options;
}

// "sqlite:longhold.db, namespace default"
std::string name_of(const store::StoreOptions& options) {
    return config::without_password(options.url) + ", namespace " + options.ns;
}

ExitCode print_failure(const Context& context, const store::Error& error, const std::string& doing,
                       const store::StoreOptions& options) {
    return print_store_error(context, error, doing + " the store " + name_of(options));
}

// ---- init -----------------------------------------------------------------------------------------------------------

ExitCode init(const Arguments& arguments, Context& context) {
    const auto options = options_of(arguments, context);
    if (!options) {
        return ExitCode::usage;
    }
    const auto info = admin::init(*options, context.clock);
    if (info) {
        context.console.write("init " + name_of(*options) + ": schema version " + std::to_string(info->schema_version) +
                              ", " + std::to_string(info->buckets) + " buckets\n");
        return ExitCode::done;
    }
    const std::string where = "creating the store " + name_of(*options);
    if (info.error().code == store::Errc::exists) {
        print_problem(context.console,
                      {.what = info.error().detail,
                       .where = where,
                       .remedy = "use it as it is, or name another with --namespace or --store; nothing was changed"});
        return ExitCode::failed;
    }
    return print_failure(context, info.error(), "creating", *options);
}

// ---- check ----------------------------------------------------------------------------------------------------------

std::string counts_text(const std::map<std::string, std::uint64_t>& counts) {
    std::string out;
    for (const auto& [name, count] : counts) {
        out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    }
    return out;
}

// Whole microseconds: more than a clock's noise is not said.
Duration shown(Duration duration) {
    return std::chrono::floor<std::chrono::microseconds>(duration);
}

std::string report_text(const admin::CheckReport& report, const store::StoreOptions& options, bool terminal) {
    TextTable table{{"CHECK", "RESULT"}};
    table.add({"store", name_of(options)});
    table.add({"schema version", std::to_string(report.info.schema_version) + "; this program's is " +
                                     std::to_string(report.program_version) + ", programs from " +
                                     std::to_string(report.info.min_compatible_version) + " on may use it"});
    table.add({"buckets", std::to_string(report.info.buckets)});
    table.add({"epoch floor", std::to_string(report.info.epoch_floor)});
    table.add({"sessions", counts_text(report.sessions)});
    table.add({"connections", counts_text(report.connections)});
    table.add({"owned", std::to_string(report.owned)});
    table.add({"orphans", std::to_string(report.orphans)});
    table.add({"integrity", report.integrity});
    table.add({"test writes", std::to_string(report.test_writes) + ", p50 " + format_duration(shown(report.write_p50)) +
                                  ", max " + format_duration(shown(report.write_max))});
    table.add({"problems", report.problems.empty() ? "none" : std::to_string(report.problems.size())});
    return table.text(terminal);
}

void write_counts(JsonWriter& writer, const std::map<std::string, std::uint64_t>& counts) {
    writer.begin_object();
    for (const auto& [name, count] : counts) {
        writer.key(name).value(count);
    }
    writer.end_object();
}

std::string report_json(const admin::CheckReport& report, const store::StoreOptions& options) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("store").value(config::without_password(options.url));
    writer.key("namespace").value(options.ns);
    writer.key("schema_version").value(report.info.schema_version);
    writer.key("min_compatible_version").value(report.info.min_compatible_version);
    writer.key("program_version").value(report.program_version);
    writer.key("buckets").value(report.info.buckets);
    writer.key("epoch_floor").value(report.info.epoch_floor);
    writer.key("sessions");
    write_counts(writer, report.sessions);
    writer.key("connections");
    write_counts(writer, report.connections);
    writer.key("owned").value(report.owned);
    writer.key("orphans").value(report.orphans);
    writer.key("integrity").value(report.integrity);
    writer.key("test_writes").begin_object();
    writer.key("count").value(report.test_writes);
    writer.key("p50_seconds").value(std::chrono::duration<double>(report.write_p50).count());
    writer.key("max_seconds").value(std::chrono::duration<double>(report.write_max).count());
    writer.end_object();
    writer.key("problems").begin_array();
    for (const auto& problem : report.problems) {
        writer.value(problem);
    }
    writer.end_array();
    writer.end_object();
    return writer.take() + "\n";
}

ExitCode check(const Arguments& arguments, Context& context) {
    const auto options = options_of(arguments, context);
    if (!options) {
        return ExitCode::usage;
    }
    const auto report = admin::check(*options, context.clock);
    if (!report) {
        return print_failure(context, report.error(), "checking", *options);
    }
    const bool json = output_format(arguments) != OutputFormat::table;
    context.console.write(json ? report_json(*report, *options)
                               : report_text(*report, *options, context.console.output_is_terminal()));
    for (const auto& problem : report->problems) {
        context.console.write_error("longhold: " + problem + "\n");
    }
    return report->problems.empty() ? ExitCode::done : ExitCode::failed;
}

// ---- migrate, dump --------------------------------------------------------------------------------------------------

ExitCode migrate(const Arguments& arguments, Context& context) {
    const auto options = options_of(arguments, context);
    if (!options) {
        return ExitCode::usage;
    }
    const auto report = admin::migrate(*options, context.clock);
    if (!report) {
        return print_failure(context, report.error(), "migrating", *options);
    }
    TextTable table{{"", "BEFORE", "AFTER"}};
    table.add({"schema version", std::to_string(report->before.schema_version),
               std::to_string(report->after.schema_version)});
    table.add({"programs from version", std::to_string(report->before.min_compatible_version),
               std::to_string(report->after.min_compatible_version)});
    context.console.write(table.text(context.console.output_is_terminal()));
    if (report->before.schema_version == report->after.schema_version) {
        context.console.write_error("nothing to migrate: " + name_of(*options) + " has this program's schema\n");
    }
    return ExitCode::done;
}

ExitCode dump(const Arguments& arguments, Context& context) {
    const auto options = options_of(arguments, context);
    if (!options) {
        return ExitCode::usage;
    }
    const auto document = admin::dump(*options, context.clock);
    if (!document) {
        return print_failure(context, document.error(), "dumping", *options);
    }
    context.console.write(document->ends_with('\n') ? *document : *document + "\n");
    return ExitCode::done;
}

Command init_command() {
    auto options = store_options();
    options.push_back({.name = "buckets",
                       .value = "NUMBER",
                       .help = "buckets of unowned connections, 1 to 1024, fixed from now on (16)"});
    return {.path = "store init",
            .summary = "Create a store, or a namespace in one",
            .examples =
                "longhold store init\n"
                "longhold store init --store sqlite:/var/lib/longhold/fleet.db --namespace eu --buckets 64",
            .options = std::move(options),
            .run = init};
}

Command check_command() {
    auto options = store_options();
    options.push_back(output_option());
    return {
        .path = "store check",
        .summary = "Look for damage, count what is in a store, and time a few writes",
        .examples =
            "longhold store check\n"
            "longhold store check -o json",
        .details = "Exits with 1 where it finds a problem. It changes nothing; the test writes write what is there.",
        .options = std::move(options),
        .run = check};
}

}  // namespace

Registry store_commands() {
    return {init_command(),
            check_command(),
            {.path = "store migrate",
             .summary = "Bring a store's schema to this program's version",
             .examples = "longhold store migrate --store sqlite:/var/lib/longhold/fleet.db",
             .details = "Starting a newer program applies what older ones can work with; this command applies the rest "
                        "too,\nand shuts older programs out. Run it when none of them runs any more.",
             .options = store_options(),
             .run = migrate},
            {.path = "store dump",
             .summary = "Print a namespace as one JSON document, read in one snapshot",
             .examples = "longhold store dump > fleet.json",
             .options = store_options(),
             .run = dump}};
}

}  // namespace longhold::app
