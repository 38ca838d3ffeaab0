// SPDX-License-Identifier: Apache-2.0
// ServerProcess: a WebSocket server in a process of its own, for benchmarks of the client.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace longhold::bench {

// What each accepted connection gets after the upgrade.
enum class Service : std::uint8_t {
    blast,     // text frames without end, as fast as the client reads; one connection at a time
    idle,      // nothing
    idle_tls,  // nothing, over TLS with a self-signed certificate
};

class ServerProcess {
public:
    // Forks: to be made before the process has threads. `message_bytes`: size of a blasted message, at most 65,535.
    ServerProcess(Service service, std::size_t message_bytes);
    // Kills the process.
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    // As in "ws://127.0.0.1:40000/".
    [[nodiscard]] std::string url() const;

private:
    bool secure_;
    std::uint16_t port_ = 0;
    pid_t process_ = -1;
};

}  // namespace longhold::bench
