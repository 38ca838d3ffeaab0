// SPDX-License-Identifier: Apache-2.0
#include <longhold/core/orphans.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace longhold::core {
namespace {

// Polls in a poll interval while a session drains.
constexpr int drain_polls = 5;

// Claim calls on the way at a time; each has one page of rows.
constexpr std::uint32_t claim_calls_max = 4;

// Orphans to count as waiting, so that loads bound the placement by what is held already and not by this page: each
// worker sees another part of it, and two that find the other one nearer its bound would both wait.
std::uint64_t unbound(std::size_t rows, std::size_t candidates) {
    return static_cast<std::uint64_t>(rows) * candidates;
}

bool same_ownership(const ConnectionRow& a, const ConnectionRow& b) {
    return a.owner == b.owner && a.epoch == b.epoch;
}

}  // namespace

std::vector<Candidate> Orphans::candidates(const OwnSession& own, const Peers& peers) const {
    std::vector<Candidate> all;
    const auto add = [&all](const SessionRow& row, std::uint32_t load) {
        all.push_back(Candidate{.id = row.id,
                                .worker_id = row.worker_id,
                                .capacity = row.capacity,
                                .load = load,
                                .generation = row.generation,
                                .version = row.version});
    };
    for (const auto& row : peers.active()) {
        add(row, row.load);
    }
    add(own.row(), std::min(load_, own.row().load));  // as the others see it, so that all rank alike
    return all;
}

void Orphans::tick(OwnSession& own, const Peers& peers, std::uint32_t load, Turn& turn) {
    load_ = load;
    const std::uint32_t room = load < turn.config.capacity ? turn.config.capacity - load : 0;
    poll(own, peers, turn);
    if (room > 0) {
        claim_due(own, peers, room, turn);
    } else if (!at_capacity_ && !orphans_.empty()) {
        turn.note(News::at_capacity, own.id());
    }
    at_capacity_ = room == 0 && !orphans_.empty();
}

Instant Orphans::wake_at(bool claiming_allowed) const {
    Instant wake = Instant::max();
    if (!polling_) {
        wake = std::min(wake, poll_at_);
    }
    if (!sweeping_) {
        wake = std::min(wake, sweep_at_);
    }
    if (claiming_allowed) {
        for (const auto& [id, orphan] : orphans_) {
            if (!claiming_.contains(id) && !rereading_.contains(id)) {
                wake = std::min(wake, orphan.eligible_at);
            }
        }
    }
    return wake;
}

void Orphans::poll(const OwnSession& own, const Peers& peers, Turn& turn) {
    if (!polling_ && turn.now >= poll_at_) {
        ListUnowned ask;
        const auto all = candidates(own, peers);
        for (std::uint32_t bucket = 0; bucket < turn.config.buckets; ++bucket) {
            if (bucket_pollers(bucket, all).has(own.id())) {
                ask.buckets.push_back(bucket);
            }
        }
        // While a session drains, what it releases is looked for more often: each poll interval is a gap of a
        // connection.
        const Duration every = turn.config.unowned_every / (peers.any_draining() ? drain_polls : 1);
        poll_at_ = turn.now + turn.jittered(every);
        if (!ask.buckets.empty()) {
            polling_ = true;
            turn.call(std::move(ask));
        }
    }
    if (!sweeping_ && turn.now >= sweep_at_) {
        // The first sweep comes a while after the start, when the sessions are known.
        if (sweep_at_ != Instant{}) {
            sweeping_ = true;
            turn.call(ListAll{ConnectionId{}});
        }
        sweep_at_ = turn.now + turn.jittered(turn.config.sweep_every);
    }
}

void Orphans::on_unowned(const ListUnowned& asked, const RowsRead* read, const OwnSession& own, const Peers& peers,
                         Turn& turn) {
    if (read == nullptr) {
        polling_ = false;
        return;
    }
    nominate_unowned(read->rows, own, peers, turn);
    if (read->more && !read->rows.empty()) {
        turn.call(ListUnowned{asked.buckets, read->rows.back().id});
    } else {
        polling_ = false;
    }
}

void Orphans::nominate_unowned(const std::vector<ConnectionRow>& rows, const OwnSession& own, const Peers& peers,
                               Turn& turn) {
    const auto all = candidates(own, peers);
    // First right among those who poll the bucket: the others do not see what is in it.
    std::map<std::uint32_t, std::vector<const ConnectionRow*>> by_bucket;
    for (const auto& row : rows) {
        if (!row.owner.is_session()) {
            by_bucket[bucket_of(row.id, turn.config.buckets)].push_back(&row);
        }
    }
    for (const auto& [bucket, in_bucket] : by_bucket) {
        const BucketPollers pollers = bucket_pollers(bucket, all);
        std::vector<Candidate> those;
        std::ranges::copy_if(all, std::back_inserter(those), [&](const auto& each) { return pollers.has(each.id); });
        Placement placement{those, unbound(in_bucket.size(), those.size())};
        for (const auto* row : in_bucket) {
            nominate(*row, own.id(), placement, turn.config.seen_after_poll(), turn);
        }
    }
}

void Orphans::nominate_first(const ConnectionRow& row, Turn& turn) {
    if (!row.owner.is_session() && row.desired == DesiredState::started) {
        nominate_own(row, turn);
    }
}

std::size_t Orphans::on_owned_by_final(const RowsRead& read, OwnSession& own, const Peers& peers, Turn& turn) {
    const auto all = candidates(own, peers);
    Placement placement{all, unbound(read.rows.size(), all.size())};
    // Who frees a row needs no room for it.
    std::vector<Candidate> roomy = all;
    for (auto& candidate : roomy) {
        candidate.load = 0;
    }
    const Placement seats{roomy, 0};
    std::size_t found = 0;
    Releases unwanted;
    for (const auto& row : read.rows) {
        if (!row.owner.is_session()) {
            continue;
        }
        ++found;
        if (row.desired == DesiredState::started) {
            nominate(row, own.id(), placement, turn.config.seen_after_fence(), turn);
        } else if (const auto first = seats.best(row.id); first && all[*first].id == own.id()) {
            // Nobody will claim it: the dead session's name is taken off the row, as it would have done itself.
            const SessionId owner = row.owner.session_id();
            unwanted.items.push_back(Release{.connection = row.id,
                                             .session = owner,
                                             .epoch = row.epoch,
                                             .attempt = own.next_token(),
                                             .cursor = peers.takeover_cursor(owner, row.id, row.epoch)});
        }
    }
    if (!unwanted.items.empty()) {
        turn.call(std::move(unwanted));
    }
    return found;
}

void Orphans::on_sweep(const RowsRead* read, OwnSession& own, Peers& peers, Turn& turn) {
    if (read == nullptr) {
        sweeping_ = false;
        return;
    }
    for (const auto& row : read->rows) {
        const SessionId owner = row.owner.session_id();
        if (!owner.empty() && owner != own.id()) {
            peers.suspect_absent(owner, turn);
        }
    }
    if (read->more && !read->rows.empty()) {
        turn.call(ListAll{read->rows.back().id});
    } else {
        sweeping_ = false;
    }
}

void Orphans::nominate(const ConnectionRow& row, const SessionId& me, Placement& placement, Duration seen_after,
                       Turn& turn) {
    if (row.desired != DesiredState::started || claiming_.contains(row.id)) {
        return;
    }
    const auto known = orphans_.find(row.id);
    if (known != orphans_.end() && same_ownership(known->second.row, row)) {
        return;
    }
    const auto rank = placement.rank(row.id, me);
    if (const auto best = placement.best(row.id)) {
        placement.claimed(*best);
    }
    if (!rank) {
        return;
    }
    Duration wait{};
    if (*rank > 0) {
        wait = seen_after + std::min<Duration>(*rank * turn.config.rank_step, turn.config.rank_wait_max) +
               scale(turn.config.rank_step, turn.random.unit());
    }
    orphans_.insert_or_assign(row.id,
                              Orphan{.row = row, .rank = *rank, .eligible_at = turn.now + wait, .fresh = *rank == 0});
}

void Orphans::nominate_own(const ConnectionRow& row, Turn& turn) {
    if (!claiming_.contains(row.id)) {
        orphans_.insert_or_assign(row.id, Orphan{.row = row, .rank = 0, .eligible_at = turn.now, .fresh = true});
    }
}

void Orphans::claim_due(OwnSession& own, const Peers& peers, std::uint32_t room, Turn& turn) {
    Claims claims;
    GetConnections reread{.ids = {}, .purpose = ReadPurpose::orphan_reread};
    const auto flush_claims = [&] {
        if (!claims.items.empty()) {
            turn.call(std::exchange(claims, Claims{}));
        }
    };
    const std::uint32_t pending_max = claim_calls_max * turn.config.page_size;
    for (auto it = orphans_.begin(); it != orphans_.end() && room > 0 && claiming_.size() < pending_max;) {
        const auto& [id, orphan] = *it;
        if (turn.now < orphan.eligible_at || rereading_.contains(id)) {
            ++it;
            continue;
        }
        if (!orphan.fresh) {
            if (reread.ids.size() < turn.config.page_size) {
                rereading_.insert(id);
                reread.ids.push_back(id);
            }
            ++it;
            continue;
        }
        const SessionId owner = orphan.row.owner.session_id();
        if (!owner.empty() && owner != own.id() && !peers.is_final_session(owner)) {
            it = orphans_.erase(it);
            continue;
        }
        Claim claim{.connection = id,
                    .owner_expected = orphan.row.owner,
                    .epoch_expected = orphan.row.epoch,
                    .session = own.id(),
                    .attempt = own.next_token(),
                    .cursor = peers.takeover_cursor(owner, id, orphan.row.epoch)};
        // A row that no ownership verb has ever touched has no attempt.
        claiming_.emplace(id, Claiming{.attempt = claim.attempt, .held_before = !orphan.row.attempt.empty()});
        claims.items.push_back(std::move(claim));
        --room;
        it = orphans_.erase(it);
        if (claims.items.size() >= turn.config.page_size) {
            flush_claims();
        }
    }
    flush_claims();
    if (!reread.ids.empty()) {
        turn.call(std::move(reread));
    }
}

void Orphans::on_reread(const GetConnections& asked, const RowsRead* read, Turn& turn) {
    std::map<ConnectionId, const ConnectionRow*> current;
    if (read != nullptr) {
        for (const auto& row : read->rows) {
            current.emplace(row.id, &row);
        }
    }
    for (const auto& id : asked.ids) {
        rereading_.erase(id);
        const auto orphan = orphans_.find(id);
        if (orphan == orphans_.end()) {
            continue;
        }
        const auto row = current.find(id);
        if (row == current.end() || row->second->desired != DesiredState::started ||
            !same_ownership(*row->second, orphan->second.row)) {
            orphans_.erase(orphan);
            continue;
        }
        orphan->second.row = *row->second;
        orphan->second.fresh = true;
        orphan->second.eligible_at = turn.now;
    }
}

std::vector<Won> Orphans::on_claims(const Claims& claims, const std::vector<Outcome<ConnectionRow>>& outcomes,
                                    const SessionId& own, Turn& turn) {
    std::vector<Won> won;
    GetConnections read_back{.ids = {}, .purpose = ReadPurpose::claim_read_back};
    for (std::size_t i = 0; i < claims.items.size(); ++i) {
        const Claim& claim = claims.items[i];
        const auto pending = claiming_.find(claim.connection);
        if (claim.session != own || pending == claiming_.end() || pending->second.attempt != claim.attempt) {
            turn.note(News::claim_void, claim.session, claim.connection);
            continue;
        }
        const auto outcome = i < outcomes.size() ? outcomes[i] : Outcome<ConnectionRow>::unknown();
        if (outcome.verdict == Verdict::unknown) {
            turn.note(News::unknown_outcome, claim.session, claim.connection);
            read_back.ids.push_back(claim.connection);
            continue;
        }
        const bool held_before = pending->second.held_before;
        claiming_.erase(pending);
        if (outcome.verdict == Verdict::done) {
            turn.note(News::claim_won, claim.session, claim.connection, outcome.row->epoch);
            won.push_back(Won{*outcome.row, held_before});
        } else {
            turn.note(News::claim_lost, claim.session, claim.connection);
        }
    }
    if (!read_back.ids.empty()) {
        turn.call(std::move(read_back));
    }
    return won;
}

std::vector<Won> Orphans::on_read_back(const GetConnections& asked, const RowsRead* read, const SessionId& own,
                                       Turn& turn) {
    std::vector<Won> won;
    if (read != nullptr) {
        for (const auto& row : read->rows) {
            const auto pending = claiming_.find(row.id);
            if (pending != claiming_.end() && row.owner.is(own) && row.attempt == pending->second.attempt) {
                turn.note(News::own_write_found, own, row.id, row.epoch);
                won.push_back(Won{row, pending->second.held_before});
            }
        }
    }
    // Those that are not in the row may still land late: the row then names this session, and the poll of owned rows
    // claims it anew.
    for (const auto& id : asked.ids) {
        claiming_.erase(id);
    }
    return won;
}

void Orphans::forget() {
    orphans_.clear();
    claiming_.clear();
    rereading_.clear();
    polling_ = false;
    sweeping_ = false;
    at_capacity_ = false;
}

}  // namespace longhold::core
