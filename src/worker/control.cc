// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <longhold/base/invariant.h>
#include <longhold/base/overloaded.h>
#include <longhold/runtime/random_seed.h>

#include <algorithm>
#include <utility>

namespace longhold::worker {
namespace {

// How often, and how many at a time, tombstones older than their retention are removed.
constexpr Duration purge_every = std::chrono::minutes{10};
constexpr std::uint32_t purge_limit = 1'000;

// How long the sink and the store may take to say how far a stuck loop's connections were.
constexpr Duration sink_read_within = std::chrono::seconds{1};

// What a drain's order may wait for; without an answer a connection counts as having nothing to flush.
constexpr Duration order_within = std::chrono::milliseconds{200};

// The further of what a checkpoint and what the sink knows of this epoch. What an earlier one wrote beyond this one's
// resume point counts for nothing: readers drop it.
std::optional<core::Cursor> furthest(std::optional<core::Cursor> known, const std::optional<core::TakeoverRead>& read,
                                     const ConnectionId& connection, Epoch epoch) {
    if (!read) {
        return known;
    }
    const auto found = read->cursors.find(connection);
    if (found == read->cursors.end() || found->second.epoch != epoch || !core::further(found->second, known)) {
        return known;
    }
    core::Cursor cursor = found->second;
    if (cursor.sequence_id == 0 && known && known->epoch == cursor.epoch) {
        cursor.sequence_id = known->sequence_id;
    }
    return cursor;
}

}  // namespace

Control::Control(const WorkerOptions& options, const WorkerParts& parts, std::vector<std::unique_ptr<IoLoop>>& loops)
    : options_(options),
      parts_(parts),
      loops_(loops),
      clock_(parts.control.clock()),
      engine_(options.engine, options.seed),
      takeovers_(parts.control, parts.store, parts.sink, parts.log),
      calls_(parts.store, takeovers_, clock_, parts.metrics, options.engine.page_size),
      checkpoints_(parts.store, parts.metrics),
      tasks_(parts.control),
      time_changed_(parts.control),
      held_(parts.metrics.gauge("longhold_held")),
      slack_(parts.metrics.histogram("longhold_lease_slack_seconds")),
      lateness_(parts.metrics.histogram("longhold_heartbeat_lateness_seconds")) {}

void Control::start() {
    placed_count_.assign(loops_.size(), 0);
    stuck_.assign(loops_.size(), false);
    tasks_.spawn(keep_time());
    tasks_.spawn(keep_checkpoints());
    tasks_.spawn(keep_tombstones_few());
    step(core::Start{SessionId{runtime::fresh_id()}});
}

void Control::step(const core::Event& event) {
    invariant(!stepping_, "an event is taken in after the commands of the one before");
    stepping_ = true;
    had_ = engine_.held() + engine_.releases_pending();
    auto commands = engine_.step(event, clock_.now());
    bool wants_session = false;
    for (auto& command : commands) {
        wants_session = wants_session || std::holds_alternative<core::WantSession>(command);
        carry_out(std::move(command));
    }
    stepping_ = false;
    held_.set(engine_.held());
    if (wants_session) {
        step(core::Start{SessionId{runtime::fresh_id()}});
        return;
    }
    progressed();
    if (engine_.wake_at() < armed_for_) {
        time_changed_.notify();
    }
}

void Control::carry_out(core::Command command) {
    std::visit(
        Overloaded{
            [&](core::Call& what) {
                note_beat(what.request);
                add_known_cursors(what.request);
                tasks_.spawn(call(std::move(what)));
            },
            [&](const core::ExtendRight& what) { extend_right(what); },
            [&](const core::DropSession& what) {
                drop_rights(what.session);
                lost_ = what.reason;
                if (!std::exchange(joined_, false)) {
                    given_up_unjoined_ = ending_;  // nothing is lost: once it is FENCED a late Join is refused
                    parts_.log.info("a session that was not joined yet is given up", {{"session", what.session}});
                    return;
                }
                parts_.metrics.counter("longhold_self_fences_total", {{"reason", std::string{core::text(what.reason)}}})
                    .add();
                parts_.log.error("session lost, its sockets are reset",
                                 {{"session", what.session}, {"reason", core::text(what.reason)}});
                had_last_ = had_;
                placed_.clear();
                placed_count_.assign(loops_.size(), 0);
                beat_sent_.reset();
            },
            [](const core::WantSession&) {},
            [&](core::OpenConnection& what) { open(std::move(what.row), what.held_before); },
            [&](const core::CloseConnection& what) { loop_of(what.connection).close(what); },
            [&](const core::AbortConnection& what) { loop_of(what.connection).abort(what.connection, what.epoch); },
            [&](core::UpdateConnection& what) {
                IoLoop& loop = loop_of(what.row.id);
                loop.update(std::move(what.row));
            },
            [&](core::TellPeer& what) {
                if (parts_.tell_peer) {
                    parts_.tell_peer(engine_.session().id(), std::move(what));
                }
            },
            // They may call the worker, which must not be within a step then.
            [&](const core::DrainAsked&) { parts_.control.post([this] { parts_.on_drain_asked(); }); },
            [&](const core::Drained& what) {
                drained_ = true;
                lost_in_drain_ = what.session_lost ? std::max<std::size_t>(had_last_, 1) : 0;
            },
            [&](const core::SessionEnded& what) {
                session_ended_ = what.left || given_up_unjoined_;
                if (!what.left && !ending_) {
                    parts_.control.post([this] {
                        parts_.on_failed("the session ended and is not begun anew: " +
                                         std::string{lost_ ? core::text(*lost_) : "it was never joined"});
                    });
                }
            },
            [&](const core::Notice& what) { tell(what); }},
        command);
}

// A row of this session that is claimed anew does not have what this session knows of it: the claim writes it there.
void Control::add_known_cursors(core::Request& request) const {
    auto* const claims = std::get_if<core::Claims>(&request);
    if (claims == nullptr) {
        return;
    }
    for (auto& claim : claims->items) {
        if (claim.owner_expected.is(claim.session)) {
            if (auto known = checkpoints_.known(claim.connection); core::further(known, claim.cursor)) {
                claim.cursor = std::move(known);
            }
        }
    }
}

void Control::note_beat(const core::Request& request) {
    if (!std::holds_alternative<core::Beat>(request)) {
        return;
    }
    const Instant now = clock_.now();
    if (beat_sent_) {
        lateness_.observe(std::max(Duration::zero(), now - *beat_sent_ - options_.engine.heartbeat_every));
    }
    beat_sent_ = now;
}

void Control::extend_right(const core::ExtendRight& command) {
    if (!rights_ || rights_->session != command.session) {
        rights_ = std::make_shared<SessionRights>(command.session, loops_.size());
        rights_->extend_until(command.deadline);
        checkpoints_.begin(command.session);
        watch_right();
    }
    slack_.observe(std::max(Duration::zero(), rights_->whole->deadline() - clock_.now()));
    rights_->extend_until(command.deadline);
}

void Control::watch_right() {
    watch_ = parts_.watchdog.watch_right(rights_->whole, [this, session = rights_->session] {
        // On the watchdog's thread, sockets are reset already: let the engine find its deadline passed.
        parts_.control.post([this, session] { right_expired(session); });
    });
}

void Control::right_expired(const SessionId& session) {
    if (session_ended_ || ending_) {
        return;
    }
    step(core::Tick{});
    if (engine_.session().member() && rights_ && rights_->session == session && rights_->whole->revoked()) {
        // A heartbeat was credited in the very moment: the session stands, and is watched again.
        rights_->whole = std::make_shared<runtime::ActingRight>();
        rights_->whole->extend_until(engine_.session().deadline());
        watch_right();
    }
}

void Control::drop_rights(const SessionId& session) {
    if (rights_ && rights_->session == session) {
        rights_->revoke();
        parts_.sockets.abort_all();
        parts_.sink.end_session(session);
        watch_.reset();
        for (const auto& loop : loops_) {
            loop->abort_session(session);
        }
    }
}

void Control::stop_watching() {
    ending_ = true;
    watch_.reset();
    if (rights_) {
        rights_->revoke();
    }
}

void Control::open(core::ConnectionRow row, bool held_before) {
    // The loop with the fewest connections, among those that turn.
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < loops_.size(); ++i) {
        if (stuck_[best] || (!stuck_[i] && placed_count_[i] < placed_count_[best])) {
            best = i;
        }
    }
    const auto [place, fresh] = placed_.try_emplace(row.id, Place{best, row.epoch});
    if (fresh) {
        ++placed_count_[best];
    }
    place->second.epoch = row.epoch;
    loops_[place->second.loop]->open(std::move(row), held_before, rights_);
}

IoLoop& Control::loop_of(const ConnectionId& connection) {
    const auto place = placed_.find(connection);
    return *loops_[place == placed_.end() ? 0 : place->second.loop];
}

void Control::closed(core::Closed closed) {
    if (ending_) {
        return;  // posted before the loops ended: there is nothing to order them any more
    }
    const auto place = placed_.find(closed.connection);
    // An order to close that found an older epoch gone says nothing of the one that is open now.
    if (place != placed_.end() && place->second.epoch == closed.epoch) {
        --placed_count_[place->second.loop];
        placed_.erase(place);
    }
    // What is known of an epoch that was never opened here is in its checkpoint.
    if (!closed.cursor) {
        closed.cursor = checkpoints_.known(closed.connection);
    }
    step(closed);
}

void Control::loop_stuck(std::uint32_t number) {
    if (stuck_[number] || session_ended_ || ending_) {
        return;
    }
    stuck_[number] = true;
    parts_.log.error("an I/O loop does not turn any more: its connections are released", {{"loop", number}});
    parts_.metrics.counter("longhold_stuck_loops_total").add();
    parts_.metrics.gauge("longhold_degraded", {{"mode", "loop_stuck"}}).set(1);
    if (rights_) {
        // Before anything is released: what the loop still does when it turns again is refused, and then ended.
        rights_->per_loop[number]->revoke();
        loops_[number]->abort_session(rights_->session);
    }
    if (std::ranges::all_of(stuck_, [](bool stuck) { return stuck; })) {
        step(core::AllLoopsStuck{});
        return;
    }
    tasks_.spawn(give_loop_up(number, engine_.session().id()));
}

// Releases what the loop held. What it had delivered is in the sink, mostly further than the last checkpoint, and of a
// young connection nowhere else.
runtime::Task<> Control::give_loop_up(std::uint32_t number, SessionId session) {
    const auto read = co_await takeovers_.read(session, clock_.now() + sink_read_within);
    if (session_ended_ || engine_.session().id() != session) {
        co_return;  // the whole session was lost, and its connections with it
    }
    core::LoopStuck event;
    for (auto place = placed_.begin(); place != placed_.end();) {
        if (place->second.loop != number) {
            ++place;
            continue;
        }
        auto cursor = furthest(checkpoints_.known(place->first), read, place->first, place->second.epoch);
        event.connections.push_back(core::Closed{place->first, place->second.epoch, std::move(cursor)});
        place = placed_.erase(place);
    }
    placed_count_[number] = 0;
    step(event);
}

void Control::tell(const core::Notice& notice) {
    auto& metrics = parts_.metrics;
    switch (notice.news) {
        case core::News::claim_won:
            metrics.counter("longhold_claims_total", {{"outcome", "won"}}).add();
            parts_.log.debug(core::text(notice.news), {{"connection", notice.connection}, {"epoch", notice.epoch}});
            return;
        case core::News::claim_lost:
            metrics.counter("longhold_claims_total", {{"outcome", "lost"}}).add();
            return;
        case core::News::claim_void:
            metrics.counter("longhold_claims_total", {{"outcome", "void"}}).add();
            return;
        case core::News::released:
            metrics.counter("longhold_releases_total", {{"outcome", "done"}}).add();
            checkpoints_.forget(notice.connection);
            return;
        case core::News::release_failed:
            metrics.counter("longhold_releases_total", {{"outcome", "failed"}}).add();
            parts_.log.warning(core::text(notice.news), {{"connection", notice.connection}, {"epoch", notice.epoch}});
            return;
        case core::News::unknown_outcome:
            metrics.counter("longhold_unknown_outcomes_total").add();
            return;
        case core::News::fenced_peer:
        case core::News::fenced_absent:
            metrics.counter("longhold_fences_total").add();
            parts_.log.warning(core::text(notice.news), {{"session", notice.session}});
            return;
        case core::News::mass_expiry:
            metrics.counter("longhold_mass_expiries_total").add();
            parts_.log.error(core::text(notice.news));
            return;
        case core::News::joined:
            joined_ = true;
            parts_.log.info(core::text(notice.news), {{"session", notice.session}});
            return;
        case core::News::removed_session:
        case core::News::own_write_found:
        case core::News::at_capacity:
            parts_.log.info(core::text(notice.news), {{"session", notice.session}});
            return;
    }
    std::unreachable();
}

// ---- tasks
// ------------------------------------------------------------------------------------------------------------

runtime::Task<> Control::call(core::Call call) {
    const Instant began = clock_.now();
    // A task begins within the step that spawns it, and a store may answer at once: the step ends first.
    co_await runtime::yield(parts_.control);
    core::Answer answer = co_await calls_.perform(std::move(call.request), began + call.timeout);
    step(core::Answered{call.id, std::move(answer)});
}

runtime::Task<> Control::keep_time() {
    for (;;) {
        armed_for_ = engine_.wake_at();
        if (clock_.now() < armed_for_) {
            co_await time_changed_.wait_until(armed_for_);
        } else {
            step(core::Tick{});
            // What is due and cannot be done yet is done when an answer comes: no turning on the spot until then.
            if (engine_.wake_at() <= clock_.now()) {
                co_await runtime::sleep_until(parts_.control, clock_.now() + std::chrono::milliseconds{1});
            }
        }
    }
}

runtime::Task<> Control::keep_checkpoints() {
    for (;;) {
        co_await runtime::sleep_until(parts_.control, clock_.now() + options_.checkpoint_every);
        const bool written = co_await checkpoint(clock_.now() + options_.engine.lease);
        parts_.metrics.gauge("longhold_degraded", {{"mode", "checkpoint"}}).set(written ? 0 : 1);
    }
}

runtime::Task<bool> Control::checkpoint(Instant deadline) {
    // One at a time: a page that another one is writing is not written yet.
    const bool turn = co_await wait_until([this] { return !checkpointing_; }, deadline);
    if (!turn) {
        co_return false;
    }
    const Checkpointing now{*this};
    const bool gathered = co_await gather_cursors(deadline);
    const bool written = co_await checkpoints_.write(deadline);
    co_return gathered&& written;
}

runtime::Task<bool> Control::gather_cursors(Instant deadline) {
    // Shared with the loops, which may answer after nobody waits any more.
    struct Gathering {
        std::size_t waiting = 0;
    };

    const auto gathering = std::make_shared<Gathering>();
    const SessionId session = engine_.session().id();
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        if (stuck_[i]) {
            continue;
        }
        ++gathering->waiting;
        loops_[i]->gather([this, gathering, session](std::vector<MovedCursor> moved) {
            parts_.control.post([this, gathering, session, moved = std::move(moved)] {
                --gathering->waiting;
                if (session == engine_.session().id()) {
                    for (const auto& each : moved) {
                        checkpoints_.moved(each.connection, each.cursor);
                    }
                }
                progressed();
            });
        });
    }
    const bool gathered = co_await wait_until([gathering] { return gathering->waiting == 0; }, deadline);
    co_return gathered;
}

runtime::Task<> Control::hand_over(Instant deadline) {
    struct Gathering {
        std::size_t waiting = 0;
        std::map<ConnectionId, std::uint64_t> pending;
    };

    const auto gathering = std::make_shared<Gathering>();
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        if (stuck_[i]) {
            continue;
        }
        ++gathering->waiting;
        loops_[i]->gather_pending([this, gathering](std::map<ConnectionId, std::uint64_t> pending) {
            parts_.control.post([this, gathering, pending = std::move(pending)]() mutable {
                --gathering->waiting;
                gathering->pending.merge(pending);
                progressed();
            });
        });
    }
    co_await wait_until([gathering] { return gathering->waiting == 0; }, clock_.now() + order_within);
    step(core::HandOver{.budget = deadline - clock_.now(), .pending_bytes = gathering->pending});
}

runtime::Task<> Control::keep_tombstones_few() {
    for (;;) {
        co_await runtime::sleep_until(parts_.control, clock_.now() + purge_every);
        const auto before =
            clock_.wall_now() - std::chrono::duration_cast<WallTime::duration>(options_.tombstone_retention);
        const auto purged =
            co_await parts_.store.purge_deleted(before, purge_limit, clock_.now() + options_.engine.lease);
        if (purged && *purged > 0) {
            parts_.log.info("tombstones removed", {{"count", *purged}});
        }
    }
}

void Control::progressed() {
    for (auto& event : waiting_) {
        event.notify();
    }
}

runtime::Task<bool> Control::wait_until(std::function<bool()> holds, Instant deadline) {
    const Waiting event{waiting_, parts_.control};
    while (!holds() && clock_.now() < deadline) {
        co_await event.place->wait_until(deadline);
    }
    co_return holds();
}

runtime::Task<> Control::stop() {
    ending_ = true;
    tasks_.stop();
    co_await tasks_.join();
}

}  // namespace longhold::worker
