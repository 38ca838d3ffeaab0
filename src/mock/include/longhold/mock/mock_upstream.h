// SPDX-License-Identifier: Apache-2.0
// MockUpstream: a WebSocket server that misbehaves on demand, and an oracle that knows what really happened.
//
// It shares no code with the client that it tests, so that its word is an independent one. One thread serves
// all sockets; memory per socket is bounded whatever the peer does. Routes, faults and the oracle's document:
// src/mock/README.md.
#pragma once

#include <longhold/base/time.h>
#include <longhold/mock/faults.h>
#include <longhold/runtime/clock.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::mock {

struct MockOptions {
    std::string address = "127.0.0.1";  // IPv4
    std::uint16_t port = 0;             // 0: a free one
    double rate = 20;                   // messages per second of each id
    std::size_t message_bytes = 0;      // pad messages to this size; 0 leaves them as they are
    bool all_from_start = false;        // sequences begin with the server, not with the first request for an id
    std::vector<FaultRule> faults{};
    std::size_t buffer_bytes_max = std::size_t{64} << 10U;  // unsent bytes of a socket, give or take a message
    std::size_t sockets_recorded_max = 2'000'000;           // beyond it upgrades are refused with 503
    int send_buffer_bytes = 0;                              // the kernel's, per socket; 0 leaves its default
    Duration close_wait = std::chrono::seconds{1};          // for the peer's end of a close
};

struct ControlReply {
    int status = 0;
    std::string body;
};

// Thread-safety: start() and stop() from the owner's thread; control() from any thread between them, and from
// the owner's after stop(). Lifetime: the clock outlives it.
class MockUpstream {
public:
    MockUpstream(MockOptions options, const runtime::Clock& clock);
    // Stops.
    ~MockUpstream();
    MockUpstream(const MockUpstream&) = delete;
    MockUpstream& operator=(const MockUpstream&) = delete;

    // Listens and starts the thread. Once. Errors: a sentence that names the address and why it cannot be had.
    [[nodiscard]] std::expected<void, std::string> start();
    // Closes all sockets and ends the thread. The oracle can still be asked.
    void stop();

    [[nodiscard]] std::uint16_t port() const;

    // What an HTTP request for `target` (such as "/oracle/a" or "/faults/a?mute") would answer, without a socket.
    // Blocks until the server's thread has answered.
    [[nodiscard]] ControlReply control(std::string_view method, std::string_view target);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// The command `mock-upstream`: serves until `stop_descriptor` is readable (a signalfd, a pipe). Prints
// "listening on ADDRESS:PORT" as its first line on `out`. Answers the process's exit code.
[[nodiscard]] int run_mock_upstream(const MockOptions& options, const runtime::Clock& clock, std::ostream& out,
                                    std::ostream& errors, int stop_descriptor);

}  // namespace longhold::mock
