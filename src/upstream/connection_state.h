// SPDX-License-Identifier: Apache-2.0
// ConnectionState: all of one Connection. Sockets and posted work know it weakly, so that what comes late finds nobody.
//
// dialling -> open -> closing -> ended, with ended reachable from each. A coroutine dials. Then reading happens in
// callbacks, straight from the socket's readiness into the decoder, a timer's callback watches over deadlines, and what
// only the attempt needed is freed.
#pragma once

#include <longhold/runtime/event.h>
#include <longhold/upstream/connection.h>
#include <longhold/upstream/transport.h>

#include <list>
#include <memory>
#include <span>
#include <string>

#include "waker.h"

namespace longhold::upstream {

class ConnectionState final : public ReadinessListener,
                              public FrameVisitor,
                              public std::enable_shared_from_this<ConnectionState> {
public:
    ConnectionState(const LoopShared& shared, ConnectionOptions options);

    runtime::Task<std::optional<Ended>> open(Receiver& receiver);
    runtime::Task<Ended> run(Receiver& receiver);

    bool send(bool binary, std::string_view payload);
    void close(std::uint16_t code, std::string reason, std::optional<Duration> within);
    void abort();
    void resume_reading();

    [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }

    [[nodiscard]] bool running() const { return receiver_ != nullptr; }

    [[nodiscard]] const std::string& subprotocol() const { return subprotocol_; }

    [[nodiscard]] const Traffic& traffic() const { return traffic_; }

    void on_readable() override;
    void on_writable() override;

    bool on_message(std::string_view data, bool binary) override;
    void on_ping(std::string_view payload) override;
    void on_pong(std::string_view payload) override;
    void on_close(std::uint16_t code, std::string_view reason) override;
    void on_fault(DecodeFault fault, std::string_view detail) override;

private:
    enum class Phase : std::uint8_t { dialling, open, closing, ended };
    struct CloseAtExit;

    // What of the options is needed once the connection is open.
    struct Limits {
        std::size_t send_queue_bytes_max;
        Duration ping_every;
        Duration pong_timeout;
        Duration close_timeout;
    };

    // The attempt (connection_opening.cc).
    runtime::Task<> open_up();
    runtime::Task<bool> send_request(std::string request, Instant deadline);
    runtime::Task<> read_answer(HandshakeReader reader, Instant deadline);
    bool take_answer(HandshakeReader& reader);
    void take_refusal(const HandshakeReader& reader, bool lost);

    // Reading (connection_reading.cc).
    void read_turn();
    bool read_once(std::span<char> buffer);
    void feed(std::string_view bytes);
    void feed_held();
    void end_burst();
    void arm_read();
    void received(std::size_t bytes);
    void stream_ended(IoStatus status);

    // Writing (connection_writing.cc).
    void flush();
    bool next_frame();
    void break_writing();

    [[nodiscard]] std::size_t queued_bytes() const { return data_bytes_ + writing_.size() - writing_at_; }

    // Time and the end.
    [[nodiscard]] Instant next_deadline() const;
    void arm_timer();
    void on_time();
    void check_life(Instant now);
    void end(EndReason reason, std::string detail);
    void reset_and_end(EndReason reason, std::string detail);
    void finish();

    [[nodiscard]] bool ended() const { return phase_ == Phase::ended; }

    [[nodiscard]] Duration pause_max() const { return limits_.ping_every + limits_.pong_timeout; }

    const LoopShared shared_;
    std::unique_ptr<const ConnectionOptions> options_;  // until the attempt is over
    const Limits limits_;
    Waker waker_;
    Receiver* receiver_ = nullptr;
    std::unique_ptr<Transport> transport_;
    FrameDecoder decoder_;
    Traffic traffic_;
    std::string subprotocol_;

    std::string held_;  // read, but not given out when the receiver stopped
    std::size_t held_at_ = 0;
    std::string writing_;  // the frame on its way to the kernel
    std::size_t writing_at_ = 0;
    std::list<std::string> data_;
    std::size_t data_bytes_ = 0;
    std::string pong_;  // payload of the answer to the latest ping
    std::string close_reason_;
    std::uint16_t close_code_ = 0;

    Instant ping_sent_at_{};
    Instant paused_since_{};
    Instant close_deadline_{};
    Duration close_within_{};
    Instant armed_for_ = Instant::max();  // when the timer of an open connection goes off; max: it does not run

    Phase phase_ = Phase::dialling;
    bool given_up_ = false;
    bool opening_ = false;  // open() runs, and sees the end
    bool read_armed_ = false;
    bool write_armed_ = false;
    bool write_broken_ = false;
    bool started_ = false;
    bool paused_ = false;
    bool resuming_ = false;
    bool burst_open_ = false;  // messages were given out since the last on_burst_end()
    bool ping_outstanding_ = false;
    bool ping_due_ = false;
    bool pong_due_ = false;
    bool close_due_ = false;
    bool close_sent_ = false;
    bool close_received_ = false;
    std::unique_ptr<Ended> ended_;
    std::unique_ptr<runtime::Event> end_told_;  // of run()
};

}  // namespace longhold::upstream
