// SPDX-License-Identifier: Apache-2.0
// Settings and a store for commands that need them.
#pragma once

#include <longhold/config/profile.h>
#include <longhold/config/settings.h>
#include <longhold/runtime/task.h>
#include <longhold/store/store.h>

#include <functional>
#include <optional>
#include <vector>

#include "command.h"
#include "output.h"

namespace longhold::app {

// --config and --set.
[[nodiscard]] std::vector<OptionSpec> settings_options();
// --config, --store, --namespace, and --set unless the command has another one.
[[nodiscard]] std::vector<OptionSpec> store_options(bool with_set = true);

// From flags, environment and file. Problems are printed; nothing then.
[[nodiscard]] std::optional<config::Settings> load_command_settings(const Arguments& arguments, Context& context,
                                                                    bool with_set = true);

// The shipped profiles and those of the settings. Problems are printed; nothing then.
[[nodiscard]] std::optional<config::ProfileSet> load_command_profiles(const config::Settings& settings,
                                                                      Context& context);

// Text of a file, or of standard input for "-". Errors are printed.
[[nodiscard]] std::optional<std::string> read_file_or_input(const std::string& name, Context& context);

// What a command does with its store. The store and its loop outlive the task.
using StoreWork = std::function<runtime::Task<ExitCode>(store::Store& store)>;

// Opens the store, runs the task to its end, and closes the store. Errors of opening are printed.
[[nodiscard]] ExitCode with_store(const config::Settings& settings, Context& context, bool must_exist,
                                  const StoreWork& work);

// When a store call that begins now must have ended.
[[nodiscard]] Instant store_deadline(const Context& context);

// Prints an error of the store; returns `failed`, or `usage` where the settings name what cannot be used.
ExitCode print_store_error(const Context& context, const store::Error& error, const std::string& doing);

}  // namespace longhold::app
