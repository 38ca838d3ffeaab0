// SPDX-License-Identifier: Apache-2.0
// Control: runs the ownership engine on the control loop: carries its commands out over store, I/O loops and rights,
// and brings every answer back to it.
//
// Decides nothing. Thread-safety: none; lives on the control loop's thread.
#pragma once

#include <longhold/core/engine.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/task_group.h>
#include <longhold/worker/worker.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpointer.h"
#include "io_loop.h"
#include "rights.h"
#include "store_calls.h"
#include "takeover_reader.h"

namespace longhold::worker {

class Control {
public:
    // `loops`: filled before start(), outlives the Control.
    Control(const WorkerOptions& options, const WorkerParts& parts, std::vector<std::unique_ptr<IoLoop>>& loops);
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    // Spawns the loops' work and asks for a session.
    void start();
    void step(const core::Event& event);

    // Told by the I/O loops, on this thread.
    void closed(core::Closed closed);
    // An I/O loop does not turn any more; its sockets are reset and its right is revoked.
    void loop_stuck(std::uint32_t number);

    // Waits for a condition on the engine's progress. Returns whether it came to hold by `deadline`.
    [[nodiscard]] runtime::Task<bool> wait_until(std::function<bool()> holds, Instant deadline);

    [[nodiscard]] const core::Engine& engine() const { return engine_; }

    [[nodiscard]] Checkpointer& checkpoints() { return checkpoints_; }

    // Takes the cursors that moved from all loops, and writes them.
    [[nodiscard]] runtime::Task<bool> checkpoint(Instant deadline);

    // Orders everything to be closed and released; what each connection has to flush decides the order.
    [[nodiscard]] runtime::Task<> hand_over(Instant deadline);

    [[nodiscard]] bool drained() const { return drained_; }

    // How many connections a drain did not hand over, because it lost its session.
    [[nodiscard]] std::size_t lost_in_drain() const { return lost_in_drain_; }

    // Whether the session ended as asked: LEFT, or FENCED before it was ever joined. Nothing while it has not ended.
    [[nodiscard]] const std::optional<bool>& session_ended() const { return session_ended_; }

    // Revokes the session's right and resets its sockets.
    void drop_rights(const SessionId& session);
    // Nothing acts any more: the watchdog need not end the right.
    void stop_watching();

    [[nodiscard]] runtime::Task<> stop();

private:
    void carry_out(core::Command command);
    void open(core::ConnectionRow row, bool held_before);
    void add_known_cursors(core::Request& request) const;
    void note_beat(const core::Request& request);
    void extend_right(const core::ExtendRight& command);
    void watch_right();
    void right_expired(const SessionId& session);
    [[nodiscard]] runtime::Task<bool> gather_cursors(Instant deadline);
    void tell(const core::Notice& notice);
    [[nodiscard]] IoLoop& loop_of(const ConnectionId& connection);
    runtime::Task<> call(core::Call call);
    runtime::Task<> keep_time();
    runtime::Task<> keep_checkpoints();
    runtime::Task<> keep_tombstones_few();
    runtime::Task<> give_loop_up(std::uint32_t number, SessionId session);

    const WorkerOptions& options_;
    const WorkerParts& parts_;
    std::vector<std::unique_ptr<IoLoop>>& loops_;
    const runtime::Clock& clock_;
    core::Engine engine_;
    TakeoverReader takeovers_;
    StoreCalls calls_;
    Checkpointer checkpoints_;
    runtime::TaskGroup tasks_;
    runtime::Event time_changed_;
    std::list<runtime::Event> waiting_;  // of wait_until(), one each
    std::shared_ptr<SessionRights> rights_;
    std::unique_ptr<runtime::Watch> watch_;

    // One entry of waiting_, for as long as somebody waits; a cancelled wait takes it out too.
    struct Waiting {
        Waiting(std::list<runtime::Event>& all, runtime::Loop& loop)
            : events(all), place(all.emplace(all.end(), loop)) {}

        ~Waiting() { events.erase(place); }

        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

        std::list<runtime::Event>& events;
        std::list<runtime::Event>::iterator place;
    };

    // While it lives no other checkpoint begins; also when its task is cancelled.
    struct Checkpointing {
        explicit Checkpointing(Control& of) : control(of) { control.checkpointing_ = true; }

        ~Checkpointing() {
            control.checkpointing_ = false;
            control.progressed();
        }

        Checkpointing(const Checkpointing&) = delete;
        Checkpointing& operator=(const Checkpointing&) = delete;

        Control& control;
    };

    struct Place {
        std::uint32_t loop = 0;
        Epoch epoch;
    };

    void progressed();

    std::map<ConnectionId, Place> placed_;
    std::vector<std::uint32_t> placed_count_;
    std::vector<bool> stuck_;
    Instant armed_for_{};
    bool stepping_ = false;
    bool drained_ = false;
    std::size_t had_ = 0;       // connections held or being released, before the events of this step
    std::size_t had_last_ = 0;  // of the session that was lost last
    std::size_t lost_in_drain_ = 0;
    bool ending_ = false;
    bool joined_ = false;  // the session has been a member
    bool given_up_unjoined_ = false;
    bool checkpointing_ = false;
    std::optional<core::LossReason> lost_;  // why the last session was dropped
    std::optional<bool> session_ended_;
    telemetry::Gauge& held_;
    telemetry::Histogram& slack_;
    telemetry::Histogram& lateness_;
    std::optional<Instant> beat_sent_;
};

}  // namespace longhold::worker
