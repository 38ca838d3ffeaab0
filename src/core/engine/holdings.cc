// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/drain_order.h>
#include <longhold/core/holdings.h>

#include <algorithm>
#include <utility>

namespace longhold::core {
namespace {

// So many attempts of one release are no news; then it is told once, and sent again nevertheless.
constexpr std::uint32_t release_attempts_quiet = 5;

// Release calls on the way at a time, in a calm store: what is closed while so many are goes with the next one.
constexpr std::uint32_t release_calls_max = 2;

// Releases that come to nothing are sent again after retry_after, then after twice as long, up to this.
constexpr Duration release_retry_max = std::chrono::seconds{2};

Duration release_retry_after(std::uint32_t attempts) {
    Duration wait = retry_after;
    for (std::uint32_t i = 1; i < attempts && wait < release_retry_max; ++i) {
        wait *= 2;
    }
    return std::min(wait, release_retry_max);
}

// A drain is not slowed down below this, however much time it has: each connection costs a worker that is about to go.
constexpr std::uint32_t at_once_min = 16;

// The share of a drain's budget within which all are to be through; the rest is for what is slower than the others.
constexpr double budget_share = 0.6;

// How long a drain waits for an upstream's answer to the close: nothing that comes after it is taken in, and the
// connection has no owner meanwhile.
constexpr Duration close_answer_within = std::chrono::milliseconds{500};

// What one handover takes beyond its flush: closing handshake, ack, release.
constexpr Duration cost_of_one = std::chrono::milliseconds{400};

}  // namespace

Holdings::Held Holdings::followed(const ConnectionRow& row) {
    return {.epoch = row.epoch, .spec_revision = row.spec_revision, .stability = row.stability};
}

void Holdings::take(const std::vector<Won>& won, bool draining, Turn& turn) {
    for (const auto& [row, held_before] : won) {
        // A row that is won again while its former epoch is being given away: the newer epoch makes the late Release
        // fail.
        releasing_.erase(row.id);
        if (draining || row.desired != DesiredState::started) {
            give(row.id, row.epoch, std::nullopt);
            continue;
        }
        if (const auto former = held_.find(row.id); former != held_.end()) {
            drop(former);
        }
        held_.emplace(row.id, followed(row));
        turn.emit(OpenConnection{row, held_before});
    }
}

void Holdings::tick(OwnSession& own, Turn& turn) {
    if (!polling_ && turn.now >= poll_at_) {
        polling_ = true;
        poll_at_ = turn.now + turn.jittered(turn.config.owned_every);
        turn.call(ListOwned{own.id(), ConnectionId{}});
    }
    close_next(turn);
    send_releases(own, turn);
}

void Holdings::send_releases(OwnSession& own, Turn& turn) {
    if (release_calls_ >= release_calls_max) {
        return;  // what comes meanwhile goes together
    }
    if (turn.now >= retry_at_) {
        to_send_.insert(to_send_.end(), send_again_.begin(), send_again_.end());
        send_again_.clear();
    }
    Releases releases;
    for (const auto& id : std::exchange(to_send_, {})) {
        const auto entry = releasing_.find(id);
        if (entry == releasing_.end() || std::exchange(entry->second.sent, true)) {
            continue;
        }
        const Giving& giving = entry->second;
        releases.items.push_back(Release{.connection = id,
                                         .session = own.id(),
                                         .epoch = giving.epoch,
                                         .attempt = own.next_token(),
                                         .cursor = giving.cursor});
        if (releases.items.size() >= turn.config.page_size) {
            ++release_calls_;
            turn.call(std::exchange(releases, Releases{}));
        }
    }
    if (!releases.items.empty()) {
        ++release_calls_;
        turn.call(std::move(releases));
    }
}

Instant Holdings::wake_at() const {
    const Instant poll = polling_ ? Instant::max() : poll_at_;
    if (release_calls_ >= release_calls_max) {
        return poll;  // the next answer goes on
    }
    if (!to_send_.empty()) {
        return Instant{};
    }
    return send_again_.empty() ? poll : std::min(poll, retry_at_);
}

void Holdings::on_owned(const RowsRead* read, OwnSession& own, Orphans& orphans, bool room, Turn& turn) {
    if (read == nullptr) {
        polling_ = false;
        return;
    }
    for (const auto& row : read->rows) {
        if (!row.owner.is(own.id()) || releasing_.contains(row.id) || orphans.claiming(row.id)) {
            continue;
        }
        const auto held = held_.find(row.id);
        if (held != held_.end()) {
            follow(*held, row, orphans, turn);
        } else if (row.desired == DesiredState::started && room) {
            orphans.nominate_own(row, turn);  // an old claim that landed late: its epoch is not acted on, a new one is
        } else {
            give(row.id, row.epoch, std::nullopt);
        }
    }
    if (read->more && !read->rows.empty()) {
        turn.call(ListOwned{own.id(), read->rows.back().id});
    } else {
        polling_ = false;
    }
}

void Holdings::on_row(const ConnectionRow& row, Orphans& orphans, Turn& turn) {
    if (const auto held = held_.find(row.id); held != held_.end() && !releasing_.contains(row.id)) {
        follow(*held, row, orphans, turn);
    }
}

void Holdings::follow(HeldById::value_type& held, const ConnectionRow& row, Orphans& orphans, Turn& turn) {
    auto& [id, state] = held;
    if (row.epoch != state.epoch) {
        if (row.epoch > state.epoch) {
            // A late claim of ours has passed the epoch that we act on: stop, and claim anew.
            turn.emit(AbortConnection{id, state.epoch});
            drop(held_.find(id));
            orphans.nominate_own(row, turn);
        }
        return;  // an older page
    }
    if (row.desired != DesiredState::started) {
        close(held, row.desired == DesiredState::deleted ? CloseReason::deleted : CloseReason::stopped, turn);
        return;
    }
    if (row.spec_revision > state.spec_revision && !state.closing) {
        state = followed(row);
        turn.emit(UpdateConnection{row});
    }
}

void Holdings::close(HeldById::value_type& held, CloseReason reason, Turn& turn, std::optional<Duration> within) {
    auto& [id, state] = held;
    if (!state.closing) {
        state.closing = true;
        state.closing_since = turn.now;
        ++closing_;
        turn.emit(CloseConnection{id, state.epoch, reason, within});
    }
}

void Holdings::on_closed(const Closed& closed, Turn& /*turn*/) {
    const auto held = held_.find(closed.connection);
    if (held == held_.end() || held->second.epoch != closed.epoch) {
        return;  // of an epoch that is not ours any more
    }
    const auto closing_since = held->second.closing ? std::optional{held->second.closing_since} : std::nullopt;
    drop(held);
    give(closed.connection, closed.epoch, closed.cursor, closing_since);
}

void Holdings::drop(HeldById::iterator held) {
    closing_ -= held->second.closing ? 1 : 0;
    held_.erase(held);
}

void Holdings::on_loop_stuck(const LoopStuck& stuck, Turn& turn) {
    for (const auto& closed : stuck.connections) {
        on_closed(closed, turn);
    }
}

void Holdings::give(const ConnectionId& connection, Epoch epoch, std::optional<Cursor> cursor,
                    std::optional<Instant> closing_since) {
    releasing_.insert_or_assign(connection,
                                Giving{.epoch = epoch, .cursor = std::move(cursor), .closing_since = closing_since});
    to_send_.push_back(connection);
}

std::vector<ConnectionId> Holdings::on_releases(const Releases& releases,
                                                const std::vector<Outcome<ConnectionRow>>& outcomes, Turn& turn) {
    const bool mine = !releases.items.empty() && releases.items.front().session == turn.own;
    release_calls_ -= mine && release_calls_ > 0 ? 1 : 0;
    std::vector<ConnectionId> wanted;
    GetConnections read_back{.ids = {}, .purpose = ReadPurpose::release_read_back};
    for (std::size_t i = 0; i < releases.items.size(); ++i) {
        const Release& release = releases.items[i];
        const auto giving = releasing_.find(release.connection);
        if (giving == releasing_.end() || giving->second.epoch != release.epoch) {
            continue;
        }
        const auto outcome = i < outcomes.size() ? outcomes[i] : Outcome<ConnectionRow>::unknown();
        if (outcome.verdict == Verdict::unknown) {
            turn.note(News::unknown_outcome, release.session, release.connection, release.epoch);
            read_back.ids.push_back(release.connection);
            continue;
        }
        // Refused: the row is not ours with this epoch any more, so there is nothing left to give.
        turn.note(outcome.verdict == Verdict::done ? News::released : News::release_failed, release.session,
                  release.connection, release.epoch);
        if (giving->second.closing_since) {
            pace_.took(turn.now - *giving->second.closing_since);
        }
        releasing_.erase(giving);
        if (outcome.verdict == Verdict::done && outcome.row && outcome.row->desired == DesiredState::started) {
            wanted.push_back(release.connection);
        }
    }
    if (!read_back.ids.empty()) {
        turn.call(std::move(read_back));
    }
    return wanted;
}

void Holdings::on_read_back(const GetConnections& asked, const RowsRead* read, const SessionId& own, Turn& turn) {
    std::map<ConnectionId, const ConnectionRow*> current;
    if (read != nullptr) {
        for (const auto& row : read->rows) {
            current.emplace(row.id, &row);
        }
    }
    for (const auto& id : asked.ids) {
        const auto giving = releasing_.find(id);
        if (giving == releasing_.end() || !giving->second.sent) {
            continue;
        }
        const auto row = current.find(id);
        const bool gone = read != nullptr && (row == current.end() || !row->second->owner.is(own) ||
                                              row->second->epoch > giving->second.epoch);
        if (gone) {
            turn.note(News::released, own, id, giving->second.epoch);
            releasing_.erase(giving);
            continue;
        }
        // The connection is never kept, whatever the row says: the release is sent again, with the cursor that it had.
        if (++giving->second.attempts == release_attempts_quiet) {
            turn.note(News::release_failed, own, id, giving->second.epoch);
        }
        giving->second.sent = false;
        send_again_.push_back(id);
        if (retry_at_ <= turn.now) {
            retry_at_ = turn.now + turn.jittered(release_retry_after(giving->second.attempts));
        }
    }
}

void Holdings::hand_over(const HandOver& order, Turn& turn) {
    std::vector<HeldConnection> all;
    for (const auto& [id, held] : held_) {
        if (held.closing) {
            // Already on its way: from now on it may take no longer than the others.
            turn.emit(CloseConnection{id, held.epoch, CloseReason::drain, close_answer_within});
            continue;
        }
        const auto pending = order.pending_bytes.find(id);
        all.push_back(HeldConnection{.id = id,
                                     .desired = DesiredState::started,
                                     .pending_bytes = pending == order.pending_bytes.end() ? 0 : pending->second,
                                     .stability = held.stability,
                                     .cost = cost_of_one});
    }
    const DrainOrder drain = drain_order(all, DrainBudget{.handover = order.budget, .concurrency_min = at_once_min});
    pace_ = DrainPace{drain.concurrency, cost_of_one, turn.now + scale(order.budget, budget_share)};
    for (const std::size_t index : drain.order) {
        to_hand_over_.push_back(all[index].id);
    }
}

void Holdings::close_next(Turn& turn) {
    if (to_hand_over_.empty()) {
        return;
    }
    const std::size_t running = closing_ + releasing_.size();
    const std::uint32_t at_once = pace_.at_once(to_hand_over_.size() + running, oldest_handover(turn.now), turn.now);
    while (closing_ + releasing_.size() < at_once && !to_hand_over_.empty()) {
        const auto held = held_.find(to_hand_over_.front());
        to_hand_over_.pop_front();
        if (held == held_.end()) {
            continue;
        }
        const Duration within = std::min(pace_.one_within(turn.now), close_answer_within);
        if (held->second.closing) {
            continue;
        }
        handing_over_.push_back(held->first);
        close(*held, CloseReason::drain, turn, within);
    }
}

// How long the oldest of those that are not through has been closing.
Duration Holdings::oldest_handover(Instant now) {
    while (!handing_over_.empty()) {
        const auto held = held_.find(handing_over_.front());
        if (held != held_.end() && held->second.closing) {
            return now - held->second.closing_since;
        }
        handing_over_.pop_front();
    }
    return {};
}

void Holdings::forget() {
    to_hand_over_.clear();
    handing_over_.clear();
    closing_ = 0;
    held_.clear();
    releasing_.clear();
    to_send_.clear();
    send_again_.clear();
    release_calls_ = 0;
    polling_ = false;
}

}  // namespace longhold::core
