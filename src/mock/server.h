// SPDX-License-Identifier: Apache-2.0
// Server: the mock upstream's one thread: an epoll loop over its sockets, and the feeds behind them.
//
// Split by concern over server.cc (loop, accepting, timers, the end of sockets), reading.cc (requests and client
// frames), sending.cc (messages, faults, bytes out) and routes.cc (HTTP, upgrades, the oracle).
#pragma once

#include <longhold/base/time.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/clock.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feed.h"
#include "frames.h"
#include "request.h"
#include "socket.h"

namespace longhold::mock {

// Thread-safety: none, but for wake(). Lives on one thread from run() on.
class Server {
public:
    Server(const MockOptions& options, const runtime::Clock& clock);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] std::expected<void, std::string> listen();

    [[nodiscard]] std::uint16_t port() const { return port_; }

    // Serves until `stopping`; calls `on_wake` after each wake(). Then closes everything.
    void run(const std::atomic<bool>& stopping, void (*on_wake)(void*), void* context);
    // From any thread.
    void wake() const;

    // Answers everything but /feed/.
    [[nodiscard]] ControlReply control(std::string_view method, const Target& target);

private:
    struct Timer {
        Instant due;
        int descriptor;
        std::uint32_t generation;

        friend bool operator>(const Timer& a, const Timer& b) { return a.due > b.due; }
    };

    enum class Flushed : std::uint8_t { all, some, dead };

    // server.cc
    void accept_all();
    void pause_accepting();
    void on_event(std::uint64_t token, std::uint32_t events);
    void run_timers(Instant now);
    void on_timer(Socket& socket, Instant now);
    [[nodiscard]] int timeout_ms(Instant now) const;
    void schedule(Socket& socket, Instant at);
    void watch(Socket& socket);
    // Ends the socket's interval, if it is open.
    void end_interval(Socket& socket, CloseHow how);
    // Ends its interval and closes it.
    void close(Socket& socket, CloseHow how, bool reset = false);
    // Closes our end once everything is sent, and waits a while for the peer's.
    void take_leave(Socket& socket);
    void close_all();
    [[nodiscard]] Socket* find(int descriptor, std::uint32_t generation) const;

    // reading.cc
    void on_readable(Socket& socket);
    void take_in(Socket& socket, std::span<char> bytes);
    [[nodiscard]] std::size_t take_head(Socket& socket, std::span<char> bytes);
    [[nodiscard]] std::size_t take_frame(Socket& socket, std::span<char> bytes);
    void on_data_frame(Socket& socket, Opcode opcode, bool final, std::string_view payload);
    void on_message(Socket& socket, std::string_view message, bool is_text);
    void on_close_frame(Socket& socket, std::string_view payload);
    void breach(Socket& socket, std::uint16_t code, std::string_view reason);
    // Takes note of what the peers of a feed's sockets have done, so that one that left is not taken for live.
    void settle(Feed& feed);

    // sending.cc
    void pump(Socket& socket, Instant now);
    // Whether the socket may be sent messages still.
    [[nodiscard]] bool strike(Socket& socket, Instant now);
    [[nodiscard]] std::uint64_t append_messages(Socket& socket, Instant now, std::size_t bytes_max);
    void append_message(Socket& socket, bool is_binary, std::string_view sent_at);
    void start_close(Socket& socket, std::uint16_t code, std::string_view reason);
    void restart(Feed& feed, Restart mode, Instant now);
    void send(Socket& socket, std::string_view bytes);
    [[nodiscard]] Flushed flush(Socket& socket, Instant now);
    [[nodiscard]] Flushed write_now(Socket& socket, std::string_view bytes, std::size_t& written) const;

    // routes.cc
    void on_request(Socket& socket, const Request& request);
    void on_upgrade(Socket& socket, const Request& request, const std::string& id);
    void answer(Socket& socket, int status, std::string_view body, std::string_view more_headers = {});
    [[nodiscard]] Feed& feed_of(const std::string& id);
    void open(Socket& socket, Feed& feed, const Request& request, std::string_view accept);
    [[nodiscard]] ControlReply faults_route(std::string_view method, const std::string& glob, const FaultWords& words);
    void add_rule(FaultRule rule);
    void strike_now(Feed& feed);

    const MockOptions options_;
    const runtime::Clock& clock_;
    const Instant started_;
    const WallTime wall_started_;

    int listener_ = -1;
    int epoll_ = -1;
    int wake_ = -1;
    std::uint16_t port_ = 0;
    bool accepting_ = true;
    Instant accept_again_ = Instant::max();

    std::vector<std::unique_ptr<Socket>> sockets_;  // by descriptor
    std::vector<std::unique_ptr<Socket>> dead_;     // freed after the turn
    std::uint32_t generation_ = 0;
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;

    Feeds feeds_;
    std::vector<FaultRule> rules_;
    std::size_t recorded_ = 0;
    std::size_t unsent_max_ = 0;

    std::string scratch_;  // frames on their way to the kernel
};

}  // namespace longhold::mock
