// SPDX-License-Identifier: Apache-2.0
// Connection: one WebSocket, from the dial to its end.
//
// One object is one attempt, and is never dialled again: no timer or callback of an old socket can touch a new one.
// Once open it lives in callbacks alone: an idle connection costs no coroutine. Any received byte counts as life; when
// none comes, a ping is sent, and when none answers it, the socket is reset. Server pings are answered ahead of queued
// data. While the receiver has stopped reading no verdict on liveness is made, but the stop itself is bounded. An idle
// connection holds no buffer.
//
// Thread-safety: none; lives on its loop's thread.
#pragma once

#include <longhold/base/time.h>
#include <longhold/runtime/abort_table.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/upstream/entropy.h>
#include <longhold/upstream/frame_decoder.h>
#include <longhold/upstream/handshake.h>
#include <longhold/upstream/read_buffer.h>
#include <longhold/upstream/tls.h>
#include <longhold/upstream/url.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::upstream {

// What the connections of one loop share. All of it outlives them.
struct LoopShared {
    runtime::Loop& loop;
    SharedReadBuffer& read_buffer;
    TlsContexts& tls;
    runtime::AbortTable& abort_table;
    std::uint32_t group;  // whom the abort table resets together
    Entropy& entropy;
};

struct ConnectionOptions {
    Url url;
    Headers headers{};
    std::vector<std::string> subprotocols{};
    // Whether the server must agree to one of the subprotocols, if any are offered.
    bool subprotocol_required = true;
    TlsOptions tls{};
    std::size_t frame_bytes_max = FrameLimits{}.frame_bytes_max;
    std::size_t message_bytes_max = FrameLimits{}.message_bytes_max;
    // Frames accepted by send_text() and send_binary() and not yet taken by the kernel.
    std::size_t send_queue_bytes_max = std::size_t{1} << 20U;
    Duration attempt_timeout = std::chrono::seconds{10};  // from the dial to the server's 101
    // A ping is sent when nothing was received for this long; zero: never, and no verdict on liveness.
    Duration ping_every = std::chrono::seconds{20};
    // The longest wait for any byte after a ping. The longest stop of reading is ping_every + pong_timeout.
    Duration pong_timeout = std::chrono::seconds{10};
    Duration close_timeout = std::chrono::seconds{2};
    // The most that a refusal's Retry-After may ask for.
    Duration retry_after_max = std::chrono::hours{1};
};

struct Message {
    std::string_view data;  // valid during the call; text is valid UTF-8
    bool binary = false;
};

// How far an attempt has come, in this order; a stage that an attempt has no need of is left out.
enum class Stage : std::uint8_t { resolving, connecting, connected, secured };

struct Ended;

// Who takes what arrives. Every call may use the connection (send, close, abort), but only on_ended() may destroy it.
class Receiver {
public:
    virtual ~Receiver() = default;

    // Of an attempt before on_open(). `detail`: the name looked up, the address, or TLS version, cipher and
    // whether the certificate was verified; valid during the call.
    virtual void on_stage(Stage /*stage*/, std::string_view /*detail*/) {}

    // The server answered 101.
    virtual void on_open() = 0;
    // False: this message is taken, but no further one is given, and nothing is read, until resume_reading().
    virtual bool on_message(Message message) = 0;
    // After the last message of one burst of reading: the boundary of a batch.
    virtual void on_burst_end() = 0;
    // The end of a connection that open() opened: once, and the last call, made from the loop.
    virtual void on_ended(Ended ended);
};

enum class EndReason : std::uint8_t {
    closed_by_peer,
    closed_by_us,
    aborted,
    transport_lost,
    liveness_timeout,
    protocol_violation,
    message_too_big,
    handshake_refused,
    resolve_failed,
    connect_failed,
    tls_failed,
    attempt_timed_out,
    backpressure,
};

// The enumerator's name, as metrics and logs show it.
[[nodiscard]] std::string_view name_of(EndReason reason);

struct Ended {
    EndReason reason = EndReason::aborted;
    bool opened = false;  // whether on_open() was called
    // The code of the peer's close frame (close_code_absent: one without), else the one that we sent; 0: neither was
    // sent.
    std::uint16_t close_code = 0;
    std::string close_reason;  // of the peer's close frame
    std::string detail;        // a sentence for people
    // Of handshake_refused:
    int http_status = 0;  // 0: the answer was not HTTP
    std::optional<Duration> retry_after;
    Headers headers{};
    std::string body;  // its first bytes
};

struct Traffic {
    std::uint64_t bytes_received = 0;  // of frames and handshake, without TLS
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_received = 0;
    Instant received_at{};  // the last byte
};

class ConnectionState;

class Connection {
public:
    Connection(const LoopShared& shared, ConnectionOptions options);
    // Requires that on_ended() was called, that open() or run() has returned an end or thrown, or that it was never
    // dialled.
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Dials until the server has answered; called once. Nothing: the connection is open, goes on by itself, and
    // `receiver`, which outlives it, is told by on_ended() how it ended. Else how the attempt ended. Throws only the
    // cancellation of its TaskGroup; the peer then gets a reset.
    [[nodiscard]] runtime::Task<std::optional<Ended>> open(Receiver& receiver);
    // open(), and then waits for the end, which on_ended() is not told: for one who does nothing else. The socket is
    // closed when it returns, or throws, which only the cancellation of its TaskGroup makes it do.
    [[nodiscard]] runtime::Task<Ended> run(Receiver& receiver);

    // Queues a message. False, and nothing is queued: the connection is not open, or the queue would be over its bound.
    // Text must be valid UTF-8.
    [[nodiscard]] bool send_text(std::string_view text);
    [[nodiscard]] bool send_binary(std::string_view bytes);

    // Starts the closing handshake, after what is queued; messages go on arriving until the peer answers. After
    // close_timeout the socket is reset. Before the connection is open it gives the attempt up. Requires a code that
    // may be sent. `within` shortens close_timeout, also of a close that is under way.
    void close(std::uint16_t code, std::string reason, std::optional<Duration> within = {});
    // Resets the socket now; the receiver is not called any more, but for on_ended().
    void abort();
    // Goes on after on_message() returned false; messages come from the loop, not from within this call.
    void resume_reading();

    [[nodiscard]] bool is_open() const;
    // The subprotocol that the server agreed to; empty for none.
    [[nodiscard]] const std::string& subprotocol() const;
    [[nodiscard]] const Traffic& traffic() const;

private:
    std::shared_ptr<ConnectionState> state_;
};

}  // namespace longhold::upstream
