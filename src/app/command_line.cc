// SPDX-License-Identifier: Apache-2.0
// The only file that knows CLI11.
#include <longhold/config/suggestion.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <sstream>

#include "command.h"
#include "output.h"

namespace longhold::app {
namespace {

constexpr int many = 1'000'000;

std::string dashed(const std::string& name) {
    return (name.size() == 1 ? "-" : "--") + name;
}

// "connection put" -> "connection"
std::string group_of(const std::string& path) {
    return path.substr(0, path.find(' '));
}

std::string group_summary(const std::string& group) {
    if (group == "connection") {
        return "What is wanted: the connections to hold";
    }
    if (group == "config") {
        return "The settings of a process";
    }
    if (group == "profile") {
        return "The protocols of upstreams";
    }
    if (group == "store") {
        return "Where ownership is kept";
    }
    return "Commands on " + group;
}

// Help as CLI11 writes it, with usage lines of our own.
class HelpFormatter final : public CLI::Formatter {
public:
    [[nodiscard]] std::string make_usage(const CLI::App* app, std::string name) const override {
        const auto found = words_.find(app);
        return "Usage: " + name + (found == words_.end() ? " COMMAND …" : found->second) + "\n";
    }

    void set_usage(const CLI::App* app, std::string words) { words_[app] = std::move(words); }

private:
    std::map<const CLI::App*, std::string> words_;
};

// " [OPTIONS] ID", " [OPTIONS] [ID…]"
std::string usage_words(const Command& command) {
    std::string words = command.options.empty() ? "" : " [OPTIONS]";
    for (const PositionalSpec& positional : command.positionals) {
        const std::string word = positional.name + (positional.repeats ? "…" : "");
        words += positional.required ? " " + word : " [" + word + "]";
    }
    return words;
}

// The registry as CLI11's tree, and what it found.
class Parser {
public:
    Parser(const Registry& registry, Context& context) : registry_(registry), context_(context) {
        root_.formatter(formatter_);
        root_.require_subcommand(0, 1);
        root_.set_help_flag("-h,--help", "this text");
        root_.add_flag("--version", version_, "version, build, and what is built in");
        root_.footer(
            "Errors go to standard error. Exit: 0 done, 1 failed while running, 2 usage or configuration, 3 a "
            "proof failed.\nDocumentation: docs/ of the source, and `longhold COMMAND --help`.");
        for (const Command& command : registry_) {
            add(command);
        }
    }

    ExitCode run(std::vector<std::string> words);

private:
    // What stands before the last word of a command.
    struct Early {
        std::vector<std::string> words;  // those that name no command, in order
        const CLI::App* in = nullptr;    // the group that the first of them stands in
        const CLI::App* last = nullptr;  // the app of the last word that names one
        const Command* command = nullptr;
    };

    struct Bound {
        const Command* command;
        CLI::App* app;
        std::vector<std::pair<std::string, CLI::Option*>> options;
    };

    void add(const Command& command);
    void add_option(Bound& bound, const OptionSpec& option);
    CLI::App& group(const std::string& name);
    [[nodiscard]] Early words_before_command(const std::vector<std::string>& words) const;
    // CLI11 lets them fall: each is refused here, so that no option is taken for one that counts.
    ExitCode unusable_early_words(const Early& early);
    ExitCode usage(std::string what, std::string remedy);
    ExitCode unexpected_words(const CLI::App& app, const std::vector<std::string>& words);
    ExitCode run(const Bound& bound);
    // What is wrong with the values of the command; empty when nothing is.
    [[nodiscard]] std::string wrong_values(const Bound& bound, const Arguments& arguments) const;

    const Registry& registry_;
    Context& context_;
    std::shared_ptr<HelpFormatter> formatter_ = std::make_shared<HelpFormatter>();
    CLI::App root_{"Holds fleets of long-lived outbound WebSocket connections, each with exactly one live owner.",
                   "longhold"};
    bool version_ = false;
    std::map<std::string, CLI::App*> groups_;
    std::deque<std::vector<std::string>> values_;  // CLI11 keeps references into it
    std::deque<bool> flags_;
    std::vector<Bound> bound_;
};

CLI::App& Parser::group(const std::string& name) {
    auto& app = groups_[name];
    if (app == nullptr) {
        app = root_.add_subcommand(name, group_summary(name));
        app->require_subcommand(0, 1);
        app->allow_extras();
    }
    return *app;
}

void Parser::add(const Command& command) {
    const std::string group_name = group_of(command.path);
    const bool grouped = group_name.size() < command.path.size();
    CLI::App& parent = grouped ? group(group_name) : root_;
    const std::string name = grouped ? command.path.substr(group_name.size() + 1) : command.path;
    Bound bound{&command, parent.add_subcommand(name, command.summary), {}};
    bound.app->allow_extras();
    formatter_->set_usage(bound.app, usage_words(command));
    std::string footer = "Examples:\n";
    std::istringstream lines{command.examples};
    for (std::string line; std::getline(lines, line);) {
        footer += "  " + line + "\n";
    }
    footer += command.details.empty() ? "" : "\n" + command.details + "\n";
    footer.pop_back();
    bound.app->footer(footer);
    for (const PositionalSpec& positional : command.positionals) {
        auto* option = bound.app->add_option(positional.name, values_.emplace_back(), positional.help);
        option->expected(0, many)->type_name("");
        bound.options.emplace_back(positional.name, option);
    }
    for (const OptionSpec& option : command.options) {
        add_option(bound, option);
    }
    bound_.push_back(std::move(bound));
}

void Parser::add_option(Bound& bound, const OptionSpec& option) {
    if (option.value.empty()) {
        bound.options.emplace_back(option.name,
                                   bound.app->add_flag(dashed(option.name), flags_.emplace_back(false), option.help));
        return;
    }
    auto* added = bound.app->add_option(dashed(option.name), values_.emplace_back(), option.help);
    added->type_name(option.value)->type_size(1)->expected(1)->allow_extra_args(false);
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bound.options.emplace_back(option.name, added);
}

ExitCode Parser::usage(std::string what, std::string remedy) {
    print_problem(context_.console, {.what = std::move(what), .where = "command line", .remedy = std::move(remedy)});
    return ExitCode::usage;
}

Parser::Early Parser::words_before_command(const std::vector<std::string>& words) const {
    Early early;
    early.last = &root_;
    for (const auto& word : words) {
        const auto subs = early.last->get_subcommands([&word](const CLI::App* sub) { return sub->get_name() == word; });
        if (subs.empty()) {
            if (early.words.empty()) {
                early.in = early.last;
            }
            early.words.push_back(word);
            continue;
        }
        early.last = subs.front();
        const auto bound = std::ranges::find(bound_, early.last, &Bound::app);
        if (bound != bound_.end()) {
            early.command = bound->command;
            break;
        }
    }
    return early;
}

ExitCode Parser::unusable_early_words(const Early& early) {
    const std::string& word = early.words.front();
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = word.starts_with("-") && word != "-";
    if (!is_option) {
        return unexpected_words(*early.in, early.words);
    }
    if (early.command == nullptr) {
        return unexpected_words(*early.last, early.words);
    }
    const bool known = std::ranges::any_of(early.command->options,
                                           [&name](const OptionSpec& option) { return dashed(option.name) == name; });
    return known ? usage(name + " stands before its command", "put " + name + " after `" + early.command->path + "`")
                 : unexpected_words(*early.last, early.words);
}

ExitCode Parser::unexpected_words(const CLI::App& app, const std::vector<std::string>& words) {
    const std::string& word = words.front();
    std::vector<std::string> known;
    const bool is_option = word.starts_with("-") && word != "-";
    if (is_option) {
        for (const auto* option : app.get_options()) {
            known.push_back(option->get_name());
        }
    } else {
        for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
            known.push_back(sub->get_name());
        }
    }
    const std::string name = word.substr(0, word.find('='));
    const auto meant = config::nearest(name, known);
    std::string path;
    for (const auto* at = &app; at != nullptr; at = at->get_parent()) {
        path = at->get_name() + (path.empty() ? "" : " ") + path;
    }
    const bool takes_commands = !app.get_subcommands([](const CLI::App*) { return true; }).empty();
    const std::string what = is_option        ? "unknown option " + name
                             : takes_commands ? "unknown command " + word
                                              : "one word too many: " + word;
    const bool has_set = std::ranges::find(known, "--set") != known.end();
    if (has_set && (name == "--store" || name == "--namespace")) {  // of the commands that work on a store
        return usage(what, name == "--store" ? "use --set store.url=URL" : "use --set store.namespace=NAME");
    }
    return usage(what, meant ? "did you mean " + *meant + "?" : "see `" + path + " --help`");
}

std::string Parser::wrong_values(const Bound& bound, const Arguments& arguments) const {
    for (const PositionalSpec& positional : bound.command->positionals) {
        if (positional.required && !arguments.has(positional.name)) {
            return positional.name + " is missing";
        }
        if (const auto words = arguments.all(positional.name); words.size() > 1 && !positional.repeats) {
            return "one word too many: " + words[1];
        }
    }
    for (const OptionSpec& option : bound.command->options) {
        const auto values = arguments.all(option.name);
        if (values.size() > 1 && !option.repeats && !option.value.empty()) {
            return dashed(option.name) + " is given " + std::to_string(values.size()) + " times, but takes one value";
        }
        for (const auto& value : values) {
            if (!option.choices.empty() && std::ranges::find(option.choices, value) == option.choices.end()) {
                std::string choices;
                for (const auto& choice : option.choices) {
                    choices += (choices.empty() ? "" : ", ") + choice;
                }
                return dashed(option.name) + " is \"" + value + "\", not one of " + choices;
            }
        }
    }
    return {};
}

ExitCode Parser::run(const Bound& bound) {
    const auto extras = bound.app->remaining();
    if (!extras.empty()) {
        return unexpected_words(*bound.app, extras);
    }
    Arguments arguments;
    for (const auto& [name, option] : bound.options) {
        if (option->count() > 0) {
            arguments.values[name] = option->results();
        }
    }
    if (const auto wrong = wrong_values(bound, arguments); !wrong.empty()) {
        return usage(wrong, "see `longhold " + bound.command->path + " --help`");
    }
    return bound.command->run(arguments, context_);
}

ExitCode Parser::run(std::vector<std::string> words) {
    root_.allow_extras();
    const Early early = words_before_command(words);
    static constexpr std::array<std::string_view, 3> of_every_group{"-h", "--help", "--version"};
    if (!early.words.empty() && std::ranges::find(of_every_group, early.words.front()) == of_every_group.end()) {
        return unusable_early_words(early);
    }
    std::ranges::reverse(words);  // CLI11 takes words from the end
    try {
        root_.parse(std::move(words));
    } catch (const CLI::CallForHelp& help) {
        std::ostringstream text;
        root_.exit(help, text, text);
        context_.console.write(text.str());
        return ExitCode::done;
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string text = error.what();
        return usage(text.substr(0, text.find(':')) + " needs a value", "put one behind it; see `longhold --help`");
    } catch (const CLI::ParseError& error) {
        return usage(error.what(), "see `longhold --help`");
    }
    if (version_) {
        context_.console.write(version_text(context_.build));
        return ExitCode::done;
    }
    for (const Bound& bound : bound_) {
        if (bound.app->parsed()) {
            return run(bound);
        }
    }
    for (const auto& [name, app] : groups_) {
        if (app->parsed()) {
            if (const auto extras = app->remaining(); !extras.empty()) {
                return unexpected_words(*app, extras);
            }
            return usage("longhold " + name + " needs a command", "see `longhold " + name + " --help`");
        }
    }
    if (const auto extras = root_.remaining(); !extras.empty()) {
        return unexpected_words(root_, extras);
    }
    return usage("there is no command", "see `longhold --help`");
}

}  // namespace

ExitCode run_command_line(const Registry& registry, const std::vector<std::string>& words, Context& context) {
    return Parser{registry, context}.run(words);
}

std::string version_text(const BuildInfo& build) {
    const auto joined = [](const std::vector<std::string>& names) {
        std::string out;
        for (const auto& name : names) {
            out += (out.empty() ? "" : ", ") + name;
        }
        return out.empty() ? std::string{"none"} : out;
    };
    return "longhold " + build.version + "\nbuild: " + build.build_type + "\ncompiler: " + build.compiler +
           "\nstores: " + joined(build.stores) + "\nsinks: " + joined(build.sinks) + "\n";
}

}  // namespace longhold::app
