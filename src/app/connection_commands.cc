// SPDX-License-Identifier: Apache-2.0
// `longhold connection get|list|start|stop|delete`, straight on the store; `put` is in connection_put.cc.
#include <longhold/base/wall_time_text.h>

#include <charconv>

#include "commands.h"
#include "connection_put.h"
#include "connection_rows.h"

namespace longhold::app {
namespace {

using runtime::Task;

config::Problem no_such_connection(const std::string& id) {
    return {.what = "there is no connection \"" + id + "\"",
            .where = "store",
            .remedy = "`longhold connection list` shows what is there"};
}

config::Problem no_answer(const std::string& id) {
    return {.what = "the store did not say whether \"" + id + "\" was changed",
            .where = "store",
            .remedy = "run this again: it changes nothing twice"};
}

std::string details(const core::ConnectionRow& row, const Workers& workers, bool terminal) {
    TextTable table{{"FIELD", "VALUE"}};
    table.add({"id", row.id.text()});
    table.add({"desired_state", std::string{core::text(row.desired)}});
    table.add({"labels", labels_text(row.labels)});
    table.add({"spec", row.spec});
    table.add({"spec_revision", std::to_string(row.spec_revision)});
    table.add({"owner", owner_text(row, workers)});
    table.add({"epoch", std::to_string(row.epoch.value)});
    table.add({"cursor", cursor_text(row)});
    table.add({"updated_at", format_rfc3339(row.updated_at)});
    return table.text(terminal);
}

Task<ExitCode> get_row(store::Store& store, Context& context, std::string id, bool json) {
    std::vector<ConnectionId> ids;
    ids.emplace_back(id);
    auto rows = co_await store.get_connections(std::move(ids), store_deadline(context));
    if (!rows) {
        co_return print_store_error(context, rows.error(), "reading connection " + id);
    }
    if (rows->empty() || rows->front().desired == core::DesiredState::deleted) {
        print_problem(context.console, no_such_connection(id));
        co_return ExitCode::failed;
    }
    const auto workers = co_await read_workers(store, context);
    if (!workers) {
        co_return print_store_error(context, workers.error(), "reading the sessions");
    }
    const auto& row = rows->front();
    context.console.write(json ? row_json(row, &*workers) + "\n"
                               : details(row, *workers, context.console.output_is_terminal()));
    co_return ExitCode::done;
}

ExitCode get(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return ExitCode::usage;
    }
    const std::string id = arguments.last("ID").value_or("");
    const bool json = output_format(arguments) != OutputFormat::table;
    return with_store(*settings, context, true, [&](store::Store& store) { return get_row(store, context, id, json); });
}

// Writes rows in each form as they come, but for the table, whose widths need all of them.
class RowWriter {
public:
    RowWriter(Console& console, OutputFormat format, Workers workers)
        : console_(console), format_(format), workers_(std::move(workers)) {
        if (format_ == OutputFormat::json) {
            console_.write("{\"connections\":[");
        }
    }

    void add(const std::vector<core::ConnectionRow>& rows) {
        std::string text;
        for (const auto& row : rows) {
            if (format_ == OutputFormat::table) {
                table_.add({row.id.text(), std::string{core::text(row.desired)}, owner_text(row, workers_),
                            std::to_string(row.epoch.value), cursor_text(row), labels_text(row.labels),
                            format_rfc3339(row.updated_at)});
                continue;
            }
            text += format_ == OutputFormat::json && !first_ ? "," : "";
            text += row_json(row, &workers_);
            text += format_ == OutputFormat::ndjson ? "\n" : "";
            first_ = false;
        }
        console_.write(text);
    }

    void finish() {
        if (format_ == OutputFormat::table) {
            console_.write(table_.text(console_.output_is_terminal()));
        } else if (format_ == OutputFormat::json) {
            console_.write("]}\n");
        }
    }

private:
    Console& console_;
    OutputFormat format_;
    Workers workers_;
    bool first_ = true;
    TextTable table_{{"ID", "DESIRED", "OWNER", "EPOCH", "CURSOR", "LABELS", "UPDATED"}};
};

Task<ExitCode> list_rows(store::Store& store, Context& context, core::Labels selector, std::uint64_t limit,
                         OutputFormat format) {
    auto workers = co_await read_workers(store, context);
    if (!workers) {
        co_return print_store_error(context, workers.error(), "reading the sessions");
    }
    RowWriter writer{context.console, format, std::move(*workers)};
    PageReceiver receiver = [&writer](const auto& rows) { writer.add(rows); };
    const auto listed = co_await for_each_row(store, context, std::move(selector), limit, std::move(receiver));
    if (!listed) {
        co_return print_store_error(context, listed.error(), "listing connections");
    }
    writer.finish();
    co_return ExitCode::done;
}

// The number behind --limit; nothing after printing what is wrong with it.
std::optional<std::uint64_t> limit_of(const Arguments& arguments, Context& context) {
    const auto text = arguments.last("limit");
    if (!text) {
        return all_rows;
    }
    std::uint64_t limit = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
    if (error != std::errc{} || end != text->data() + text->size() || limit == 0) {
        print_problem(context.console, {.what = "\"" + *text + "\" is no number of connections",
                                        .where = "--limit",
                                        .remedy = "give a whole number from 1"});
        return std::nullopt;
    }
    return limit;
}

ExitCode list(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    const auto selector = labels_of(arguments, "selector", context);
    const auto limit = limit_of(arguments, context);
    if (!settings || !selector || !limit) {
        return ExitCode::usage;
    }
    return with_store(*settings, context, true, [&](store::Store& store) {
        return list_rows(store, context, *selector, *limit, output_format(arguments));
    });
}

// What start, stop and delete do to each connection.
struct Change {
    core::DesiredState desired;
    std::string verb;  // "start"
    std::string past;  // "started"
};

// Changes all of `ids`; one that fails is reported, the others go on.
Task<ExitCode> change_rows(store::Store& store, Context& context, Change change, std::vector<std::string> ids) {
    ExitCode worst = ExitCode::done;
    std::size_t changed = 0;
    {
        Progress progress{context.console, context.clock, change.verb, ids.size()};
        for (const auto& id : ids) {
            const auto outcome = co_await store.set_desired(ConnectionId{id}, change.desired, store_deadline(context));
            progress.advance();
            if (outcome.verdict == core::Verdict::done) {
                ++changed;
                continue;
            }
            worst = ExitCode::failed;
            print_problem(context.console,
                          outcome.verdict == core::Verdict::refused ? no_such_connection(id) : no_answer(id));
        }
    }
    context.console.write(change.past + " " + std::to_string(changed) + " of " + std::to_string(ids.size()) +
                          (ids.size() == 1 ? " connection\n" : " connections\n"));
    co_return worst;
}

// `arguments` outlives it.
Task<ExitCode> change_selected(store::Store& store, Context& context, Change change, core::Labels selector,
                               const Arguments& arguments) {
    std::vector<std::string> ids;
    PageReceiver receiver = [&ids](const auto& rows) {
        for (const auto& row : rows) {
            ids.push_back(row.id.text());
        }
    };
    const auto listed = co_await for_each_row(store, context, selector, all_rows, std::move(receiver));
    if (!listed) {
        co_return print_store_error(context, listed.error(), "listing connections");
    }
    if (!ids.empty() &&
        !confirmed(change.verb + " " + std::to_string(ids.size()) + " connections with " + labels_text(selector) + "?",
                   arguments, context.console)) {
        co_return ExitCode::usage;
    }
    const ExitCode code = co_await change_rows(store, context, std::move(change), std::move(ids));
    co_return code;
}

ExitCode change(const Change& wanted, const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    const auto selector = labels_of(arguments, "selector", context);
    if (!settings || !selector) {
        return ExitCode::usage;
    }
    const auto ids = arguments.all("ID");
    if (ids.empty() == selector->empty()) {
        print_problem(context.console, {.what = ids.empty() ? "nothing says which connections to " + wanted.verb
                                                            : "both connection ids and --selector are given",
                                        .where = "command line",
                                        .remedy = "give either ids or --selector key=value"});
        return ExitCode::usage;
    }
    return with_store(*settings, context, true, [&](store::Store& store) {
        return ids.empty() ? change_selected(store, context, wanted, *selector, arguments)
                           : change_rows(store, context, wanted, ids);
    });
}

Command change_command(Change wanted, std::string summary) {
    auto options = store_options();
    options.push_back({.name = "selector",
                       .value = "KEY=VALUE",
                       .help = "connections with this label, instead of ids",
                       .repeats = true});
    options.push_back({.name = "yes", .help = "do not ask before changing what --selector names"});
    const std::string verb = wanted.verb;
    return {
        .path = "connection " + verb,
        .summary = std::move(summary),
        .examples = "longhold connection " + verb + " btc-usd eth-usd\nlonghold connection " + verb +
                    " --selector venue=example --yes",
        .details =
            "Ids are never asked about: they are changed at once. A --selector, even of one connection, asks "
            "first; where standard input is no terminal it needs --yes, and changes nothing without.",
        .positionals = {{.name = "ID", .help = "the connections' ids", .required = false, .repeats = true}},
        .options = std::move(options),
        .run = [wanted](const Arguments& arguments, Context& context) { return change(wanted, arguments, context); }};
}

Command get_command() {
    auto options = store_options();
    options.push_back(output_option());
    return {.path = "connection get",
            .summary = "Show a connection: what is wanted of it, who owns it, how far it is delivered",
            .examples = "longhold connection get btc-usd\nlonghold connection get btc-usd -o json",
            .positionals = {{.name = "ID", .help = "the connection's id"}},
            .options = std::move(options),
            .run = get};
}

Command list_command() {
    auto options = store_options();
    options.push_back(
        {.name = "selector", .value = "KEY=VALUE", .help = "only connections with this label", .repeats = true});
    options.push_back({.name = "limit", .value = "N", .help = "at most so many"});
    options.push_back(output_option());
    return {.path = "connection list",
            .summary = "List connections, by id",
            .examples = "longhold connection list --selector venue=example\nlonghold connection list -o ndjson | head",
            .options = std::move(options),
            .run = list};
}

}  // namespace

Registry connection_commands() {
    return {connection_put_command(),
            get_command(),
            list_command(),
            change_command({core::DesiredState::started, "start", "started"}, "Want connections to be held"),
            change_command({core::DesiredState::stopped, "stop", "stopped"},
                           "Want connections not to be held; they keep their cursor"),
            change_command({core::DesiredState::deleted, "delete", "deleted"},
                           "Remove connections; a tombstone keeps their epoch for a while")};
}

}  // namespace longhold::app
