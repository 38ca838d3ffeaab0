// SPDX-License-Identifier: Apache-2.0
// `longhold profile list` and `longhold profile show`.
#include <longhold/base/json_text.h>
#include <longhold/config/suggestion.h>

#include "command_settings.h"
#include "commands.h"

namespace longhold::app {
namespace {

// The profiles that the arguments' settings give; nothing after printing what is wrong.
std::optional<config::ProfileSet> profiles_of(const Arguments& arguments, Context& context) {
    const auto settings = load_command_settings(arguments, context);
    if (!settings) {
        return std::nullopt;
    }
    return load_command_profiles(*settings, context);
}

std::string profile_line(const config::Profile& profile) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("name").value(profile.name);
    writer.key("description").value(profile.description);
    writer.end_object();
    return writer.take();
}

ExitCode list(const Arguments& arguments, Context& context) {
    const auto profiles = profiles_of(arguments, context);
    if (!profiles) {
        return ExitCode::usage;
    }
    const OutputFormat format = output_format(arguments);
    TextTable table{{"NAME", "DESCRIPTION"}};
    std::string lines;
    for (const auto& [name, profile] : *profiles) {
        table.add({name, profile.description});
        lines += (lines.empty() || format == OutputFormat::ndjson ? "" : ",") + profile_line(profile) +
                 (format == OutputFormat::ndjson ? "\n" : "");
    }
    if (format == OutputFormat::table) {
        context.console.write(table.text(context.console.output_is_terminal()));
    } else {
        context.console.write(format == OutputFormat::json ? "{\"profiles\":[" + lines + "]}\n" : lines);
    }
    return ExitCode::done;
}

ExitCode show(const Arguments& arguments, Context& context) {
    const auto profiles = profiles_of(arguments, context);
    if (!profiles) {
        return ExitCode::usage;
    }
    const std::string name = arguments.last("NAME").value_or("");
    const auto found = profiles->find(name);
    if (found == profiles->end()) {
        std::vector<std::string> names;
        for (const auto& [known, profile] : *profiles) {
            names.push_back(known);
        }
        const auto meant = config::nearest(name, names);
        print_problem(context.console,
                      {.what = "there is no profile \"" + name + "\"",
                       .where = "command line",
                       .remedy = meant ? "did you mean " + *meant + "?" : "see `longhold profile list`"});
        return ExitCode::usage;
    }
    context.console.write(arguments.last("o") == "json" ? config::profile_json(found->second)
                                                        : config::profile_toml(found->second));
    return ExitCode::done;
}

}  // namespace

Registry profile_commands() {
    auto list_options = settings_options();
    list_options.push_back(output_option());
    auto show_options = settings_options();
    show_options.push_back(
        {.name = "o", .value = "FORMAT", .help = "toml or json (one document)", .choices = {"toml", "json"}});
    return {{.path = "profile list",
             .summary = "List the profiles that connections may name",
             .examples = "longhold profile list\n"
                         "longhold profile list --set profiles.directory=my-profiles -o json",
             .options = std::move(list_options),
             .run = list},
            {.path = "profile show",
             .summary = "Show a profile, every key with its value",
             .examples = "longhold profile show plain",
             .positionals = {{.name = "NAME", .help = "the profile's name"}},
             .options = std::move(show_options),
             .run = show}};
}

}  // namespace longhold::app
