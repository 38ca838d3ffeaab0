// SPDX-License-Identifier: Apache-2.0
// `longhold completion bash|zsh|fish`: scripts that complete commands, options and the values that options may have.
#include <algorithm>
#include <map>

#include "commands.h"

namespace longhold::app {
namespace {

std::string dashed(const std::string& name) {
    return (name.size() == 1 ? "-" : "--") + name;
}

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) {
        out += (out.empty() ? "" : " ") + word;
    }
    return out;
}

// Text inside single quotes of a shell.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string{"'\\''"} : std::string{c};
    }
    return out + "'";
}

// The words that may follow each beginning of a command: "" -> connection, config, …; "connection" -> put, get, …
std::map<std::string, std::vector<std::string>> next_words(const Registry& registry) {
    std::map<std::string, std::vector<std::string>> next;
    const auto add = [&next](const std::string& before, const std::string& word) {
        auto& words = next[before];
        if (std::ranges::find(words, word) == words.end()) {
            words.push_back(word);
        }
    };
    for (const Command& command : registry) {
        const auto space = command.path.find(' ');
        add("", command.path.substr(0, space));
        if (space != std::string::npos) {
            add(command.path.substr(0, space), command.path.substr(space + 1));
        }
    }
    return next;
}

std::string words_of(const Command& command) {
    std::vector<std::string> words;
    for (const auto& option : command.options) {
        words.push_back(dashed(option.name));
    }
    words.emplace_back("--help");
    if (command.path == "completion") {
        words.insert(words.begin(), {"bash", "zsh", "fish"});
    }
    return joined(words);
}

std::string bash_script(const Registry& registry) {
    std::string out =
        "# bash completion of longhold; load it with: source <(longhold completion bash)\n"
        "_longhold() {\n"
        "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
        "    local first=\"\" second=\"\" words=\"\"\n"
        "    [ \"$COMP_CWORD\" -gt 1 ] && first=\"${COMP_WORDS[1]}\"\n"
        "    [ \"$COMP_CWORD\" -gt 2 ] && second=\"${COMP_WORDS[2]}\"\n"
        "    case \"$previous\" in\n"
        "        --config|--spec) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
        "    esac\n"
        "    case \"$first $second $previous\" in\n";
    for (const Command& command : registry) {
        for (const auto& option : command.options) {
            if (!option.choices.empty()) {
                out += "        \"" + command.path + "\"*\" " + dashed(option.name) + "\") words=\"" +
                       joined(option.choices) + "\" ;;\n";
            }
        }
    }
    out += "    esac\n    if [ -z \"$words\" ]; then\n        case \"$first $second\" in\n";
    for (const Command& command : registry) {
        const bool grouped = command.path.find(' ') != std::string::npos;
        out +=
            "            \"" + command.path + (grouped ? "\"" : " \"*") + ") words=\"" + words_of(command) + "\" ;;\n";
    }
    for (const auto& [before, words] : next_words(registry)) {
        out += "            \"" + before + " \"" + (before.empty() ? "" : "*") + ") words=\"" + joined(words) +
               (before.empty() ? " --help --version" : " --help") + "\" ;;\n";
    }
    return out +
           "        esac\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    case \"$first $second\" in \"connection import\") COMPREPLY+=($(compgen -f -- \"$current\")) ;; esac\n"
           "}\n"
           "complete -F _longhold longhold\n";
}

std::string zsh_script(const Registry& registry) {
    std::string out =
        "#compdef longhold\n"
        "# zsh completion of longhold; load it with: source <(longhold completion zsh)\n"
        "_longhold() {\n"
        "    local -a choices\n"
        "    if (( CURRENT == 2 )); then\n"
        "        choices=(" +
        joined(next_words(registry)[""]) +
        ")\n"
        "        compadd -- $choices --help --version\n"
        "        return\n"
        "    fi\n"
        "    case \"$words[2] $words[3] $words[CURRENT-1]\" in\n";
    for (const Command& command : registry) {
        for (const auto& option : command.options) {
            if (!option.choices.empty()) {
                out += "        \"" + command.path + "\"*\" " + dashed(option.name) + "\") compadd -- " +
                       joined(option.choices) + "; return ;;\n";
            }
        }
    }
    out +=
        "        *\" --config\"|*\" --spec\") _files; return ;;\n"
        "    esac\n";
    for (const auto& [before, words] : next_words(registry)) {
        if (!before.empty()) {
            out += "    if (( CURRENT == 3 )) && [[ $words[2] == " + before + " ]]; then compadd -- " + joined(words) +
                   " --help; return; fi\n";
        }
    }
    out += "    case \"$words[2] $words[3]\" in\n";
    for (const Command& command : registry) {
        const bool grouped = command.path.find(' ') != std::string::npos;
        out += "        \"" + command.path + (grouped ? "\"" : " \"*") + ") compadd -- " + words_of(command) +
               (command.path == "connection import" ? "; _files" : "") + " ;;\n";
    }
    return out +
           "    esac\n"
           "}\n"
           "if [[ $funcstack[1] == _longhold ]]; then _longhold \"$@\"; else compdef _longhold longhold; fi\n";
}

std::string fish_option(const std::string& condition, const OptionSpec& option) {
    return "complete -c longhold -n " + condition + (option.name.size() == 1 ? " -s " : " -l ") + option.name +
           (option.value.empty() ? "" : " -r") +
           (option.choices.empty() ? "" : " -a " + quoted(joined(option.choices))) +
           (option.name == "config" || option.name == "spec" ? " -F" : "") + " -d " + quoted(option.help) + "\n";
}

std::string fish_script(const Registry& registry) {
    std::string out =
        "# fish completion of longhold; load it with: longhold completion fish | source\n"
        "complete -c longhold -f\n"
        "complete -c longhold -l help -d 'this text'\n"
        "complete -c longhold -n __fish_use_subcommand -l version -d 'version, build, and what is built in'\n";
    for (const auto& [before, words] : next_words(registry)) {
        const std::string condition = before.empty() ? std::string{"__fish_use_subcommand"}
                                                     : quoted("__fish_seen_subcommand_from " + before +
                                                              "; and not __fish_seen_subcommand_from " + joined(words));
        out += "complete -c longhold -n " + condition + " -a " + quoted(joined(words)) + "\n";
    }
    for (const Command& command : registry) {
        const auto space = command.path.find(' ');
        std::string condition = "__fish_seen_subcommand_from " + command.path.substr(0, space);
        if (space != std::string::npos) {
            condition += "; and __fish_seen_subcommand_from " + command.path.substr(space + 1);
        }
        condition = quoted(condition);
        for (const auto& option : command.options) {
            out += fish_option(condition, option);
        }
        if (command.path == "completion") {
            out += "complete -c longhold -n " + condition + " -a 'bash zsh fish'\n";
        }
        if (command.path == "connection import") {
            out += "complete -c longhold -n " + condition + " -F\n";
        }
    }
    return out;
}

ExitCode print_script(const Registry& registry, const Arguments& arguments, Context& context) {
    const std::string shell = arguments.last("SHELL").value_or("");
    if (shell == "bash") {
        context.console.write(bash_script(registry));
    } else if (shell == "zsh") {
        context.console.write(zsh_script(registry));
    } else if (shell == "fish") {
        context.console.write(fish_script(registry));
    } else {
        context.console.write_error("longhold: there is no completion for \"" + shell +
                                    "\" (command line): use bash, zsh or fish\n");
        return ExitCode::usage;
    }
    return ExitCode::done;
}

}  // namespace

Registry completion_commands(const Registry& others) {
    Command command{.path = "completion",
                    .summary = "Print a script that completes commands and options in a shell",
                    .examples =
                        "source <(longhold completion bash)\n"
                        "longhold completion fish > ~/.config/fish/completions/longhold.fish",
                    .positionals = {{.name = "SHELL", .help = "bash, zsh or fish"}},
                    .run = nullptr};
    Registry all = others;
    all.push_back(command);
    command.run = [all = std::move(all)](const Arguments& arguments, Context& context) {
        return print_script(all, arguments, context);
    };
    return {std::move(command)};
}

}  // namespace longhold::app
