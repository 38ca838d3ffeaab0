// SPDX-License-Identifier: Apache-2.0
// `longhold connection put`.
#include "connection_put.h"

#include <longhold/config/connection_spec.h>
#include <longhold/config/names.h>

#include "connection_rows.h"
#include "spec_sets.h"

namespace longhold::app {
namespace {

using runtime::Task;

// The spec document that --spec, --url, --profile and --set build together; nothing after printing what is wrong.
std::optional<std::string> spec_document(const Arguments& arguments, Context& context) {
    std::string json;
    if (const auto file = arguments.last("spec")) {
        auto text = read_file_or_input(*file, context);
        if (!text) {
            return std::nullopt;
        }
        json = std::move(*text);
    }
    std::vector<std::string> sets;
    for (const auto* const own : {"url", "profile"}) {
        if (const auto value = arguments.last(own)) {
            sets.push_back(std::string{own} + "=" + *value);
        }
    }
    const auto more = arguments.all("set");
    sets.insert(sets.end(), more.begin(), more.end());
    auto document = spec_with_sets(std::move(json), sets, context);
    if (!document) {
        return std::nullopt;
    }
    if (document->empty()) {
        print_problem(context.console, {.what = "nothing says where to connect to",
                                        .where = "command line",
                                        .remedy = "give --url wss://… or --spec FILE"});
        return std::nullopt;
    }
    return document;
}

// The verb for the store; nothing after printing what is wrong.
std::optional<store::PutConnection> wanted_row(const Arguments& arguments, const config::Settings& settings,
                                               Context& context) {
    const std::string id = arguments.last("ID").value_or("");
    const auto labels = labels_of(arguments, "label", context);
    if (const auto checked = config::check_connection_id(id); !checked) {
        const auto split = checked.error().rfind("; ");
        print_problem(context.console, {.what = checked.error().substr(0, split),
                                        .where = "command line",
                                        .remedy = checked.error().substr(split + 2)});
        return std::nullopt;
    }
    const auto json = spec_document(arguments, context);
    const auto profiles = load_command_profiles(settings, context);
    if (!labels || !json || !profiles) {
        return std::nullopt;
    }
    const std::string source = "spec of " + id;
    const auto spec = config::parse_spec(*json, source);
    const auto problems = spec ? config::check_spec(*spec, *profiles, source) : spec.error();
    if (!problems.empty()) {
        print_problems(context.console, problems);
        return std::nullopt;
    }
    store::PutConnection put;
    put.id = ConnectionId{id};
    put.labels = *labels;
    put.spec = config::spec_text(*spec);
    put.desired = arguments.has("stopped") ? core::DesiredState::stopped : core::DesiredState::started;
    put.only_if_absent = arguments.has("create");
    return put;
}

Task<ExitCode> put_row(store::Store& store, Context& context, store::PutConnection put, bool json) {
    const std::string id = put.id.text();
    const auto outcome = co_await store.put_connection(std::move(put), store_deadline(context));
    if (outcome.verdict == core::Verdict::refused) {
        print_problem(context.console, {.what = "the connection \"" + id + "\" exists already",
                                        .where = "store",
                                        .remedy = "leave --create out to replace it, or take another id"});
        co_return ExitCode::failed;
    }
    if (outcome.verdict == core::Verdict::unknown) {
        print_problem(context.console, {.what = "the store did not say whether \"" + id + "\" was written",
                                        .where = "store",
                                        .remedy = "run this again: it changes nothing twice"});
        co_return ExitCode::failed;
    }
    const auto& row = *outcome.row;
    context.console.write(json ? row_json(row) + "\n"
                               : "put " + id + ": " + std::string{core::text(row.desired)} + ", spec revision " +
                                     std::to_string(row.spec_revision) + "\n");
    co_return ExitCode::done;
}

ExitCode put(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context, false);
    if (!settings) {
        return ExitCode::usage;
    }
    const auto row = wanted_row(arguments, *settings, context);
    if (!row) {
        return ExitCode::usage;
    }
    const bool json = output_format(arguments) != OutputFormat::table;
    return with_store(*settings, context, false,
                      [&](store::Store& store) { return put_row(store, context, *row, json); });
}

}  // namespace

Command connection_put_command() {
    std::vector<OptionSpec> options{
        {.name = "url", .value = "URL", .help = "where to connect to, ws:// or wss://"},
        {.name = "profile", .value = "NAME", .help = "the upstream's protocol (else plain)"},
        {.name = "label", .value = "KEY=VALUE", .help = "a label; all others are removed", .repeats = true},
        {.name = "set", .value = "PATH=VALUE", .help = "a key of the spec, such as sequence.field", .repeats = true},
        {.name = "spec",
         .value = "FILE",
         .help = "the spec as JSON, before --url, --profile and --set; - reads standard input"},
        {.name = "stopped", .help = "do not hold it yet"},
        {.name = "create", .help = "fail if it exists, instead of replacing it"}};
    for (auto& option : store_options(false)) {
        options.push_back(std::move(option));
    }
    options.push_back(output_option());
    return {.path = "connection put",
            .summary = "Create or replace a connection",
            .examples =
                "longhold connection put btc-usd --url wss://feed.example/btc --label venue=example\n"
                "longhold connection put btc-usd --url wss://feed.example/btc --set sequence.field=/seq "
                "--set resume.query=since\n"
                "longhold connection put btc-usd --spec btc-usd.json --stopped",
            .positionals = {{.name = "ID", .help = "the connection's id"}},
            .options = std::move(options),
            .run = put};
}

}  // namespace longhold::app
