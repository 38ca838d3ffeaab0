// SPDX-License-Identifier: Apache-2.0
// `longhold connection import` and `longhold connection export`.
#include <longhold/base/json_text.h>
#include <longhold/config/connection_document.h>

#include <map>

#include "commands.h"
#include "connection_rows.h"

namespace longhold::app {
namespace {

using runtime::Task;
using Rows = std::map<std::string, core::ConnectionRow>;

struct Update {
    std::string id;
    std::string changes;  // "spec, labels"
};

// What an import would do.
struct Difference {
    std::vector<std::string> created;
    std::vector<Update> updated;
    std::vector<std::string> deleted;
    std::size_t unchanged = 0;
    std::vector<store::PutConnection> puts;  // of created and updated
};

store::PutConnection put_of(const config::ConnectionDocument& document) {
    store::PutConnection put;
    put.id = ConnectionId{document.id};
    put.labels = document.labels;
    put.spec = config::spec_text(document.spec);
    put.desired = document.desired_state == "STOPPED" ? core::DesiredState::stopped : core::DesiredState::started;
    return put;
}

std::string changes_between(const core::ConnectionRow& row, const store::PutConnection& put) {
    std::string changes;
    const auto add = [&changes](bool differs, std::string_view name) {
        if (differs) {
            changes += (changes.empty() ? "" : ", ") + std::string{name};
        }
    };
    add(row.spec != put.spec, "spec");
    add(row.labels != put.labels, "labels");
    add(row.desired != put.desired, "desired_state");
    return changes;
}

Difference difference_of(const std::vector<config::ConnectionDocument>& documents, const Rows& rows, bool prune) {
    Difference difference;
    Rows left = rows;
    for (const auto& document : documents) {
        auto put = put_of(document);
        const auto row = rows.find(document.id);
        left.erase(document.id);
        if (row == rows.end()) {
            difference.created.push_back(document.id);
            difference.puts.push_back(std::move(put));
            continue;
        }
        auto changes = changes_between(row->second, put);
        if (changes.empty()) {
            ++difference.unchanged;
            continue;
        }
        difference.updated.push_back({document.id, std::move(changes)});
        difference.puts.push_back(std::move(put));
    }
    for (const auto& [id, row] : left) {
        if (prune) {
            difference.deleted.push_back(id);
        } else {
            ++difference.unchanged;
        }
    }
    return difference;
}

std::string difference_text(const Difference& difference) {
    std::string out;
    for (const auto& id : difference.created) {
        out += "+ " + id + "\n";
    }
    for (const auto& update : difference.updated) {
        out += "~ " + update.id + " (" + update.changes + ")\n";
    }
    for (const auto& id : difference.deleted) {
        out += "- " + id + "\n";
    }
    return out + std::to_string(difference.created.size()) + " to create, " +
           std::to_string(difference.updated.size()) + " to update, " + std::to_string(difference.deleted.size()) +
           " to delete, " + std::to_string(difference.unchanged) + " unchanged\n";
}

std::string difference_json(const Difference& difference, bool applied) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("created").begin_array();
    for (const auto& id : difference.created) {
        writer.value(id);
    }
    writer.end_array();
    writer.key("updated").begin_array();
    for (const auto& update : difference.updated) {
        writer.begin_object();
        writer.key("id").value(update.id);
        writer.key("changes").value(update.changes);
        writer.end_object();
    }
    writer.end_array();
    writer.key("deleted").begin_array();
    for (const auto& id : difference.deleted) {
        writer.value(id);
    }
    writer.end_array();
    writer.key("unchanged").value(static_cast<std::uint64_t>(difference.unchanged));
    writer.key("applied").value(applied);
    writer.end_object();
    return writer.take() + "\n";
}

// Carries the difference out; it outlives the task. One connection that fails is reported, the others go on.
Task<ExitCode> apply(store::Store& store, Context& context, const Difference& difference) {
    ExitCode worst = ExitCode::done;
    const auto failed = [&context, &worst](const std::string& id) {
        worst = ExitCode::failed;
        print_problem(context.console, {.what = "the store did not say whether \"" + id + "\" was written",
                                        .where = "store",
                                        .remedy = "run the import again: it changes nothing twice"});
    };
    Progress progress{context.console, context.clock, "import", difference.puts.size() + difference.deleted.size()};
    for (const auto& put : difference.puts) {
        const auto outcome = co_await store.put_connection(put, store_deadline(context));
        if (outcome.verdict != core::Verdict::done) {
            failed(put.id.text());
        }
        progress.advance();
    }
    for (const auto& id : difference.deleted) {
        const auto outcome =
            co_await store.set_desired(ConnectionId{id}, core::DesiredState::deleted, store_deadline(context));
        if (outcome.verdict == core::Verdict::unknown) {  // refused: somebody else deleted it
            failed(id);
        }
        progress.advance();
    }
    co_return worst;
}

// `arguments` outlives it.
Task<ExitCode> import_rows(store::Store& store, Context& context, const Arguments& arguments,
                           std::vector<config::ConnectionDocument> documents) {
    Rows rows;
    PageReceiver receiver = [&rows](const auto& page) {
        for (const auto& row : page) {
            rows.emplace(row.id.text(), row);
        }
    };
    const auto listed = co_await for_each_row(store, context, {}, all_rows, std::move(receiver));
    if (!listed) {
        co_return print_store_error(context, listed.error(), "listing connections");
    }
    const Difference difference = difference_of(documents, rows, arguments.has("prune"));
    const bool dry = arguments.has("dry-run");
    if (!dry && documents.empty() && !difference.deleted.empty() && !arguments.has("prune-all")) {
        print_problem(context.console,
                      {.what = "the file names no connection at all, and --prune would delete all " +
                               std::to_string(difference.deleted.size()),
                       .where = "import",
                       .remedy = "see whether what made the file failed; add --prune-all if it is meant so"});
        co_return ExitCode::usage;
    }
    const bool json = output_format(arguments) != OutputFormat::table;
    if (!json) {
        context.console.write(difference_text(difference) + (dry ? "nothing was changed (dry run)\n" : ""));
    }
    if (!dry && !difference.deleted.empty() &&
        !confirmed("delete " + std::to_string(difference.deleted.size()) + " connections?", arguments,
                   context.console)) {
        co_return ExitCode::usage;
    }
    ExitCode code = ExitCode::done;
    if (!dry) {
        code = co_await apply(store, context, difference);
    }
    if (json) {
        context.console.write(difference_json(difference, !dry));
    }
    co_return code;
}

ExitCode import_all(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return ExitCode::usage;
    }
    const auto profiles = load_command_profiles(*settings, context);
    const std::string file = arguments.last("FILE").value_or("-");
    const auto text = read_file_or_input(file, context);
    if (!profiles || !text) {
        return ExitCode::usage;
    }
    const std::string source = file == "-" ? "standard input" : file;
    auto documents = config::parse_connection_documents(*text, source);
    if (!documents) {
        return print_problems(context.console, documents.error());
    }
    config::Problems problems;
    for (const auto& document : *documents) {
        const auto more = config::check_spec(document.spec, *profiles, source + ":" + std::to_string(document.line));
        problems.insert(problems.end(), more.begin(), more.end());
    }
    if (!problems.empty()) {
        return print_problems(context.console, problems);
    }
    return with_store(*settings, context, arguments.has("dry-run"), [&](store::Store& store) {
        return import_rows(store, context, arguments, std::move(*documents));
    });
}

Task<ExitCode> export_rows(store::Store& store, Context& context, core::Labels selector, bool array) {
    bool first = true;
    PageReceiver receiver = [&context, &first, array](const auto& rows) {
        std::string text;
        for (const auto& row : rows) {
            text += array ? (first ? "[\n" : ",\n") : "";
            text += row_document(row) + (array ? "" : "\n");
            first = false;
        }
        context.console.write(text);
    };
    const auto listed = co_await for_each_row(store, context, std::move(selector), all_rows, std::move(receiver));
    if (!listed) {
        co_return print_store_error(context, listed.error(), "listing connections");
    }
    if (array) {
        context.console.write(first ? "[]\n" : "\n]\n");
    }
    co_return ExitCode::done;
}

ExitCode export_all(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    const auto selector = labels_of(arguments, "selector", context);
    if (!settings || !selector) {
        return ExitCode::usage;
    }
    const bool array = arguments.last("o") == "json";
    return with_store(*settings, context, true,
                      [&](store::Store& store) { return export_rows(store, context, *selector, array); });
}

Command import_command() {
    auto options = store_options();
    options.push_back({.name = "dry-run", .help = "print the difference and change nothing"});
    options.push_back({.name = "prune", .help = "delete connections that the file does not have"});
    options.push_back({.name = "prune-all", .help = "with --prune: also when the file is empty"});
    options.push_back(
        {.name = "yes", .help = "do not ask before deleting; needed to --prune where standard input is no terminal"});
    options.push_back(output_option());
    return {.path = "connection import",
            .summary = "Make connections as a file says, and print the difference",
            .examples =
                "longhold connection import connections.ndjson --dry-run\n"
                "longhold connection export --store sqlite:old.db | longhold connection import - --prune --yes",
            .positionals = {{.name = "FILE",
                             .help = "NDJSON or a JSON array of {id, labels, spec, desired_state}; - reads "
                                     "standard input"}},
            .options = std::move(options),
            .run = import_all};
}

Command export_command() {
    auto options = store_options();
    options.push_back(
        {.name = "selector", .value = "KEY=VALUE", .help = "only connections with this label", .repeats = true});
    options.push_back({.name = "o",
                       .value = "FORMAT",
                       .help = "ndjson (one line each) or json (one array)",
                       .choices = {"ndjson", "json"}});
    return {.path = "connection export",
            .summary = "Print connections as import reads them",
            .examples = "longhold connection export > connections.ndjson",
            .options = std::move(options),
            .run = export_all};
}

}  // namespace

Registry transfer_commands() {
    return {import_command(), export_command()};
}

}  // namespace longhold::app
