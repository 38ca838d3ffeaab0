// SPDX-License-Identifier: Apache-2.0
// ScriptedServer: a raw TCP or TLS server for tests, which does exactly what a test's script says, right or wrong.
#pragma once

#include <longhold/runtime/thread.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::upstream {

// One accepted connection, blocking. Every read gives up after ten seconds.
class Peer {
public:
    Peer(int descriptor, SSL_CTX* tls);
    ~Peer();
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // False when the TLS handshake failed.
    [[nodiscard]] bool secured() const { return secured_; }

    // The client's request, up to its empty line.
    std::string read_request();
    // Reads the request and answers 101; `more` are further header lines, each with its line end.
    std::string upgrade(std::string_view more = "");

    struct Frame {
        unsigned opcode = 0;
        std::string payload;
    };

    // The client's next frame, unmasked; nothing at the end of the connection.
    std::optional<Frame> read_frame();

    void send(std::string_view bytes);
    void send_bytewise(std::string_view bytes);

    enum class End : std::uint8_t { orderly, reset, timed_out };

    // Reads until the client has ended the connection.
    End wait_for_end();
    // Ends the connection with a reset.
    void reset();
    void end_writing();

private:
    // One read; 0 at an orderly end, below 0 on failure with errno.
    long read_some(char* out, std::size_t size);
    std::string read_exactly(std::size_t size);

    int descriptor_;
    std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_;
    std::string unread_;
    bool secured_ = true;
};

std::string switching_answer(std::string_view request, std::string_view more = "");

// Listens on 127.0.0.1 and runs `script` on each of `connections` accepted connections, one after another, in its own
// thread.
class ScriptedServer {
public:
    explicit ScriptedServer(std::function<void(Peer&)> script, SSL_CTX* tls = nullptr, int connections = 1);
    // Waits for the script's end.
    ~ScriptedServer();

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    int listener_;
    std::uint16_t port_ = 0;
    std::optional<runtime::Thread> thread_;
};

// A listening socket on 127.0.0.1 that never accepts.
class Listener {
public:
    explicit Listener(int backlog);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

}  // namespace longhold::upstream
