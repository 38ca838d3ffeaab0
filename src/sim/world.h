// SPDX-License-Identifier: Apache-2.0
// World: one run: processes with the real engine, the store, the network between them, the upstreams and the sink,
// under virtual time; and the order of all that happens.
//
// Decides nothing about ownership: it carries out what the engines say, as worker::Control does, and lets the plan's
// faults happen.
#pragma once

#include <longhold/sim/model_store.h>
#include <longhold/sim/run.h>

#include <memory>
#include <vector>

#include "checker.h"
#include "delivery.h"
#include "event_log.h"
#include "event_queue.h"
#include "marks.h"
#include "network.h"
#include "process.h"
#include "stale_index.h"

namespace longhold::sim {

class World {
public:
    World(const Plan& plan, Plant plant, const std::function<void(const std::string&)>& lines);

    [[nodiscard]] RunResult run();

private:
    // A call on its way.
    struct Letter {
        std::uint32_t process = 0;
        core::CallId id = 0;
        core::Request request;
        core::Answer answer;
        Nanos back = 0;
        Nanos lag = 0;
        Nanos times_out_at = 0;
        bool answers = true;
        bool error = false;
        std::uint32_t uses = 0;  // entries in the queue
    };

    struct PageWrite {
        std::uint32_t process = 0;
        SessionId session;
        std::vector<core::CursorEntry> entries;
    };

    struct Batch {
        std::uint32_t process = 0;
        SessionId session;

        struct Part {
            std::uint32_t connection = 0;
            Epoch epoch;
            std::uint64_t first = 0;
            std::uint64_t last = 0;
        };

        std::vector<Part> parts;
    };

    struct Slot {
        std::uint32_t process;  // the newest one
        bool wanted = true;     // false: scaled in
    };

    struct Rollout {
        enum class Step : std::uint8_t { idle, joining, draining };
        Step step = Step::idle;
        std::uint64_t generation = 1;
        std::size_t slot = 0;
        std::uint32_t former = 0;  // the process that drains
        Nanos since = 0;
        std::vector<std::uint32_t> moves;  // by connection
    };

    // ---- world.cc: the loop
    void handle(const Item& item);
    void handle_for_process(Process& process, const Item& item);
    void check_owners();
    void settle();
    [[nodiscard]] std::string unsettled() const;
    [[nodiscard]] std::string unsettled(std::uint32_t connection, const core::ConnectionRow& row) const;
    void check_writes();
    [[nodiscard]] RunResult result();

    // ---- world_shell.cc: what a worker's shell does
    void step(Process& process, const core::Event& event);
    void carry_out(Process& process, core::Command& command);
    void plan_wake(Process& process);
    void wake(Process& process, const Item& item);
    void send(Process& process, core::Call call);
    void note_given(Process& process, const core::Request& request);
    void add_noted_cursors(Process& process, core::Request& request) const;
    void extend_right(Process& process, const core::ExtendRight& command);
    void open(Process& process, const core::OpenConnection& command);
    void close(Process& process, const core::CloseConnection& command);
    void look_at_close(Process& process, std::uint32_t connection, std::uint64_t epoch);
    void drop_socket(Process& process, std::uint32_t connection);
    void drop_all_sockets(Process& process);
    void answer(Process& process, const Item& item);
    void tell(Process& process, core::TellPeer command);
    void hinted(Process& process, std::uint64_t number);

    // ---- world_store.cc: calls, pages, the store
    void dispatch(std::uint32_t letter, const Fate& fate);
    [[nodiscard]] std::uint32_t new_letter();
    void unuse(std::uint32_t letter);
    void arrive(std::uint32_t letter);
    [[nodiscard]] core::Answer apply(const Letter& letter);
    [[nodiscard]] core::Answer take_over(const core::ReadTakeover& read, core::Answer pages) const;
    void check_cursors(const core::Request& request);
    void mark_late(const Letter& letter, const core::Answer& answer) const;
    void plant_in_store(const core::Request& request);
    void checkpoint(Process& process);
    void page_arrives(std::uint32_t number);

    // ---- world_sink.cc: messages
    void deliver(Process& process);
    void batch_lands(std::uint32_t number);
    void batch_acked(Process& process, std::uint32_t number);

    // ---- world_faults.cc
    void begin_fault(std::uint32_t index);
    void hit(const Fault& fault);
    void end_fault(std::uint32_t index);
    void end_faults();
    void crash(Process& process, Nanos restart_after);
    void pause(Process& process, Nanos duration);
    void resume(Process& process);
    void set_clock(const Fault& fault);
    void stick_loop(Process& process, bool all);
    void operate(const Fault& fault);
    [[nodiscard]] Process* target(const Fault& fault);
    void recovery_due(std::uint32_t index);

    // ---- world_fleet.cc: which processes there are
    void start_process(std::uint32_t slot);
    void begin_drain(Process& process, bool asked_by_operator);
    void advance_drain(Process& process);
    void leave(Process& process);
    void gone(Process& process);
    void plan_fleet();
    void fleet_look();
    void advance_rollout();
    void next_of_rollout();
    void begin_rollout();
    [[nodiscard]] bool fleet_busy() const;

    void count(FaultKind kind) { ++faults_.at(static_cast<std::size_t>(kind)); }

    const Plan& plan_;
    Plant plant_;
    Nanos now_ = 0;
    EventQueue queue_;
    EventLog log_;
    Marks marks_;
    FaultCounts faults_{};
    Network network_;
    ModelStore store_;
    StaleIndex former_;
    Delivery delivery_;
    Checker checker_;
    Random random_;  // of the shells and the sink

    std::vector<std::unique_ptr<Process>> processes_;  // all that ever were
    std::vector<std::uint32_t> live_;                  // numbers of those that are alive
    std::vector<Slot> slots_;
    Rollout rollout_;
    std::uint32_t sessions_ = 0;
    std::vector<std::vector<std::uint32_t>> holders_;  // by connection: processes with an open socket
    std::vector<std::uint32_t> contested_;             // connections with more than one

    std::vector<core::TellPeer> hints_;  // all that ever were
    std::vector<Letter> letters_;
    std::vector<std::uint32_t> letters_free_;
    std::vector<PageWrite> pages_;
    std::vector<std::uint32_t> pages_free_;
    std::vector<Batch> batches_;
    std::vector<std::uint32_t> batches_free_;

    Nanos slow_sink_ = 0;  // the most that a write takes longer
    std::uint32_t slow_sinks_ = 0;
    bool fleet_planned_ = false;
    bool faults_over_ = false;
    Nanos settle_until_ = 0;
    std::optional<Nanos> settled_at_;
    std::vector<Nanos> crashed_at_;  // by connection: when its owner crashed, and it is not open again; or -1
    std::vector<Nanos> crashes_;

    std::uint64_t events_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t changes_ = 0;  // by operators
    std::uint64_t page_writes_ = 0;
    std::uint64_t session_writes_ = 0;
    std::uint64_t owner_writes_ = 0;
    double beats_expected_ = 0;      // of processes that are gone
    std::vector<Nanos> started_at_;  // by process
    Nanos recovery_max_ = 0;
    std::uint64_t rollouts_ = 0;
    std::uint64_t moves_max_ = 0;
};

}  // namespace longhold::sim
