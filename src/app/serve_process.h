// SPDX-License-Identifier: Apache-2.0
// ServeProcess: `longhold serve`: builds a worker with its store, sink and admin listener, starts it in order, and
// stops it in order.
//
// Everything but the I/O threads runs on one control loop, the main thread's. Start and stop order: DESIGN section 7.
#pragma once

#include <longhold/config/profile.h>
#include <longhold/config/settings.h>
#include <longhold/runtime/clock.h>

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "command.h"

namespace longhold::app {

class ServeProcess {
public:
    // `load`: reads the settings anew, for SIGHUP; errors are sentences.
    using Reload = std::function<std::expected<config::Settings, std::string>()>;

    ServeProcess(config::Settings settings, config::ProfileSet profiles, Reload load, const Context& context);
    ~ServeProcess();
    ServeProcess(const ServeProcess&) = delete;
    ServeProcess& operator=(const ServeProcess&) = delete;

    // Serves until SIGTERM or SIGINT, or until it cannot go on. Returns the process's exit code: 0; 1 when something
    // was not finished or failed while running; 2 when the settings name something that cannot be used.
    [[nodiscard]] int run();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::app
