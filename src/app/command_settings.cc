// SPDX-License-Identifier: Apache-2.0
#include "command_settings.h"

#include <algorithm>

#include "run_on_loop.h"

namespace longhold::app {
namespace {

constexpr Duration store_call_within = std::chrono::seconds{10};

std::string remedy_text(store::Errc code) {
    switch (code) {
        case store::Errc::unavailable:
            return "see that it is reachable and not locked, then run this again";
        case store::Errc::throttled:
            return "run this again later";
        case store::Errc::not_found:
            return "correct --store and --namespace, or create it with `longhold store init`";
        case store::Errc::corrupt:
            return "restore it from a dump";
        case store::Errc::incompatible:
            return "use a release of longhold that fits it";
        case store::Errc::exists:
            return "use another name";
        case store::Errc::invalid:
            return "correct store.url and store.namespace";
    }
    return "run this again";
}

// Reports a URL whose scheme is not among `schemes`; an empty list knows none and judges none.
void check_scheme(std::string_view key, const std::string& url, const std::vector<std::string>& schemes,
                  const config::Settings& settings, config::Problems& problems) {
    const auto scheme = url.substr(0, url.find(':'));
    if (schemes.empty() || std::ranges::find(schemes, scheme) != schemes.end()) {
        return;
    }
    std::string known;
    for (const auto& name : schemes) {
        known += (known.empty() ? "" : ", ") + name + ":";
    }
    const auto origin = settings.origins.find(key);
    problems.push_back({.what = std::string{key} + " has the scheme \"" + scheme + "\", which this build does not have",
                        .where = origin == settings.origins.end() ? "default" : origin->second.place,
                        .remedy = "use one of: " + known});
}

}  // namespace

std::vector<OptionSpec> settings_options() {
    return {{.name = "config", .value = "FILE", .help = "settings file (else LONGHOLD_CONFIG, else none)"},
            {.name = "set",
             .value = "SECTION.KEY=VALUE",
             .help = "one setting, above environment and file",
             .repeats = true}};
}

std::vector<OptionSpec> store_options(bool with_set) {
    auto options = settings_options();
    if (!with_set) {
        options.pop_back();
    }
    options.push_back({.name = "store", .value = "URL", .help = "the store, above store.url"});
    options.push_back({.name = "namespace", .value = "NAME", .help = "the namespace, above store.namespace"});
    return options;
}

std::optional<config::Settings> load_command_settings(const Arguments& arguments, Context& context, bool with_set) {
    config::SettingsInput input;
    input.sources = {.environment = context.environment, .read_file = context.read_file};
    if (with_set) {
        input.flags = arguments.all("set");
    }
    if (const auto url = arguments.last("store")) {
        input.flags.push_back("store.url=" + *url);
    }
    if (const auto name = arguments.last("namespace")) {
        input.flags.push_back("store.namespace=" + *name);
    }
    const auto named = context.environment.find("LONGHOLD_CONFIG");
    std::string file = arguments.last("config").value_or("");
    if (file.empty() && named != context.environment.end()) {
        file = named->second;
    }
    if (!file.empty()) {
        auto text = context.read_file(file);
        if (!text) {
            print_problem(context.console,
                          {.what = "the settings file cannot be read: " + text.error(),
                           .where = file,
                           .remedy = arguments.has("config") ? "correct --config" : "correct LONGHOLD_CONFIG"});
            return std::nullopt;
        }
        input.file_name = file;
        input.file_text = std::move(*text);
    }
    auto settings = config::load_settings(input);
    if (!settings) {
        print_problems(context.console, settings.error());
        return std::nullopt;
    }
    config::Problems problems;
    check_scheme("store.url", settings->store.url, context.build.stores, *settings, problems);
    check_scheme("sinks.main.url", settings->sinks.main.url, context.build.sinks, *settings, problems);
    if (!problems.empty()) {
        print_problems(context.console, problems);
        return std::nullopt;
    }
    return std::move(*settings);
}

std::optional<config::ProfileSet> load_command_profiles(const config::Settings& settings, Context& context) {
    auto profiles = config::load_profiles(settings.profiles.directory);
    if (!profiles) {
        print_problems(context.console, profiles.error());
        return std::nullopt;
    }
    return std::move(*profiles);
}

std::optional<std::string> read_file_or_input(const std::string& name, Context& context) {
    auto text = name == "-" ? context.console.read_all() : context.read_file(name);
    if (!text) {
        print_problem(context.console, {.what = "it cannot be read: " + text.error(),
                                        .where = name == "-" ? "standard input" : name,
                                        .remedy = "correct the name or its permissions"});
        return std::nullopt;
    }
    return std::move(*text);
}

ExitCode with_store(const config::Settings& settings, Context& context, bool must_exist, const StoreWork& work) {
    runtime::Loop loop{context.clock};
    const StoreRequest request{
        .url = settings.store.url, .name_space = settings.store.name_space, .must_exist = must_exist};
    auto opened = context.open_store(request, loop);
    if (!opened) {
        return print_store_error(context, opened.error(), "opening the store " + config::without_password(request.url));
    }
    return run_on_loop(loop, work(**opened));
}

Instant store_deadline(const Context& context) {
    return context.clock.now() + store_call_within;
}

ExitCode print_store_error(const Context& context, const store::Error& error, const std::string& doing) {
    const auto split = error.detail.rfind("; ");  // some details say what to do themselves
    const bool told = split != std::string::npos;
    print_problem(context.console, {.what = error.detail.substr(0, split),
                                    .where = doing,
                                    .remedy = told ? error.detail.substr(split + 2) : remedy_text(error.code)});
    return error.code == store::Errc::invalid ? ExitCode::usage : ExitCode::failed;
}

}  // namespace longhold::app
