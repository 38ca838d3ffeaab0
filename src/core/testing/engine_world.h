// SPDX-License-Identifier: Apache-2.0
// EngineWorld: a few engines, one model store and virtual time, with faults that a test switches on.
//
// Keeps the one-owner invariant by itself: a connection that two live, acting workers hold at once ends the test.
#pragma once

#include <longhold/core/engine.h>
#include <longhold/sim/model_store.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace longhold::core::testing {

// One worker: an engine and what its shell would keep.
struct Worker {
    explicit Worker(EngineConfig config, std::uint64_t seed)
        : engine(std::move(config), seed), wake_at(engine.wake_at()) {}

    Engine engine;
    Instant wake_at;      // as the engine said after its last step
    bool alive = true;    // false: killed
    bool paused = false;  // true: SIGSTOP; nothing runs, answers wait
    SessionId session;
    Instant right_until{};
    std::map<ConnectionId, Epoch> open;  // sockets
    std::map<ConnectionId, std::optional<Cursor>> resumed_from;
    std::vector<SessionId> dropped;  // sessions lost, in order
    bool drained = false;
    bool lost_in_drain = false;  // drained, because the session was lost
    bool drain_asked = false;
    Instant tick_not_before{};
    std::optional<bool> ended;         // the session's end: true when LEFT
    std::vector<std::string> updated;  // connections whose spec was changed
    std::map<News, int> news;
    std::map<HintKind, int> told;
    Duration close_takes = std::chrono::milliseconds{5};  // the upstream's answer; at most what the order allows
    Duration flush_takes{};
};

// What becomes of a request on its way.
enum class Fate : std::uint8_t {
    pass,
    lose_request,  // never reaches the store; the caller times out
    lose_answer,   // happens; the caller times out
    fail_at_once,  // never happens; the caller hears so at once, as unknown
    hold_answer,   // happens; the answer waits for let_answers_go()
    delay_write,   // the caller times out, the write happens a while later
};

class EngineWorld {
public:
    explicit EngineWorld(std::size_t workers, EngineConfig config = {});

    // Runs until `until` holds, at most `within`. Returns whether it came to hold.
    bool run_until(const std::function<bool()>& until, Duration within);
    void run_for(Duration duration);
    // Runs until every worker knows all others, makes `connections` named c0, c1, … and runs until each is held once.
    // Returns whether that came about in time.
    bool hold(int connections);

    Worker& worker(std::size_t index) { return *workers_[index]; }

    std::size_t add_worker(EngineConfig config);

    sim::ModelStore store;
    // Asked for each request; pass when unset.
    std::function<Fate(std::size_t worker, const Request&)> fate;
    // No request reaches the store while set.
    bool outage = false;
    // Hints reach the peers; those of workers whose configuration has an address.
    bool hints = true;

    [[nodiscard]] Instant now() const { return now_; }

    void kill(std::size_t index) { worker(index).alive = false; }

    void pause(std::size_t index) { worker(index).paused = true; }

    void resume(std::size_t index);
    void drain(std::size_t index);

    void send(std::size_t index, const Event& event) { step(index, event); }

    // Delivers what Fate::hold_answer kept, in the order of the requests.
    void let_answers_go();

    [[nodiscard]] std::size_t answers_held() const { return held_answers_.size(); }

    // How many workers hold each connection with a right that has not ended.
    [[nodiscard]] std::size_t held(std::size_t index) const { return workers_[index]->open.size(); }

    [[nodiscard]] std::size_t acting_owners(const std::string& connection) const;
    [[nodiscard]] bool all_held_once() const;

    // The most workers that ever acted for one connection at one instant.
    [[nodiscard]] std::size_t owners_max() const { return owners_max_; }

private:
    struct Due {
        std::size_t worker;
        std::function<void()> work;
        bool to_worker;  // waits while the worker is paused, is dropped when it is dead
    };

    void at(Duration after, std::size_t worker, bool to_worker, std::function<void()> work);
    void step(std::size_t index, const Event& event);
    void carry_out(std::size_t index, const Command& command);
    void tell(std::size_t index, const TellPeer& what);
    void call(std::size_t index, const Call& call);
    void answer(std::size_t index, CallId id, Answer answer, Duration after);
    void check_owners();
    bool advance(Instant limit);

    std::vector<std::unique_ptr<Worker>> workers_;
    std::multimap<Instant, Due> due_;
    std::vector<std::function<void()>> held_answers_;
    Instant now_{std::chrono::hours{1}};
    std::uint64_t session_number_ = 0;
    std::size_t owners_max_ = 0;
};

}  // namespace longhold::core::testing
