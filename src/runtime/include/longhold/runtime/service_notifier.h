// SPDX-License-Identifier: Apache-2.0
// ServiceNotifier: tells systemd that the service is ready, alive or stopping (protocol: sd_notify(3)).
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace longhold::runtime {

// Thread-safety: all members may be called from any thread. Never blocks: a datagram that the manager has no room for
// is an error of that call.
class ServiceNotifier {
public:
    // `address`: the value of NOTIFY_SOCKET, a path or an abstract name ("@name"); empty where no manager listens, and
    // then every call succeeds and does nothing.
    explicit ServiceNotifier(std::string address) : address_(std::move(address)) {}

    // Errors: a sentence that names the address and the reason.
    [[nodiscard]] std::expected<void, std::string> ready() const { return send("READY=1"); }

    [[nodiscard]] std::expected<void, std::string> alive() const { return send("WATCHDOG=1"); }

    [[nodiscard]] std::expected<void, std::string> stopping() const { return send("STOPPING=1"); }

    [[nodiscard]] bool enabled() const { return !address_.empty(); }

private:
    [[nodiscard]] std::expected<void, std::string> send(std::string_view state) const;

    std::string address_;
};

}  // namespace longhold::runtime
