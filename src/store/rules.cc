// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <longhold/base/invariant.h>

#include <utility>

namespace longhold::store::rules {
namespace {

void move_bucket(core::ConnectionRow& row, std::uint32_t buckets) {
    if (!row.owner.is_session()) {
        row.owner = core::Owner::nobody(row.desired, core::bucket_of(row.id, buckets));
    }
}

void advance_cursor(core::ConnectionRow& row, const std::optional<core::Cursor>& cursor) {
    if (core::further(cursor, row.cursor)) {
        row.cursor = cursor;
    }
}

core::ConnectionRow new_row(const PutConnection& verb, const StoreInfo& info, WallTime now) {
    core::ConnectionRow row;
    row.id = verb.id;
    row.labels = verb.labels;
    row.spec = verb.spec;
    row.spec_revision = 1;
    row.desired = verb.desired;
    row.epoch = Epoch{info.epoch_floor};
    row.updated_at = now;
    move_bucket(row, info.buckets);
    return row;
}

}  // namespace

std::optional<core::SessionRow> after(const core::Beat& verb, core::SessionRow row) {
    invariant(!core::is_final(verb.state), "a heartbeat never ends its session");
    if (core::is_final(row.state) || row.counter != verb.counter_expected) {
        return std::nullopt;
    }
    ++row.counter;
    row.attempt = verb.attempt;
    row.state = verb.state;
    row.load = verb.load;
    return row;
}

std::optional<core::SessionRow> after(const core::Leave& verb, core::SessionRow row) {
    if (core::is_final(row.state)) {
        return std::nullopt;
    }
    row.state = core::SessionState::left;
    row.attempt = verb.attempt;
    return row;
}

std::optional<core::SessionRow> after(const core::Fence& verb, std::optional<core::SessionRow> row) {
    if (!row) {
        if (!verb.create_if_absent) {
            return std::nullopt;
        }
        core::SessionRow fenced;
        fenced.id = verb.session;
        fenced.attempt = verb.attempt;
        fenced.state = core::SessionState::fenced;
        return fenced;
    }
    if (core::is_final(row->state) || (verb.counter_expected && row->counter != *verb.counter_expected)) {
        return std::nullopt;
    }
    row->state = core::SessionState::fenced;
    row->attempt = verb.attempt;
    return row;
}

std::optional<core::SessionRow> after_drain_request(core::SessionRow row) {
    if (core::is_final(row.state)) {
        return std::nullopt;
    }
    row.drain_requested = true;
    return row;
}

std::optional<core::ConnectionRow> after(const core::Claim& verb, core::ConnectionRow row, WallTime now) {
    if (row.owner != verb.owner_expected || row.epoch != verb.epoch_expected ||
        row.desired != core::DesiredState::started) {
        return std::nullopt;
    }
    row.owner = core::Owner::session(verb.session);
    row.epoch = row.epoch.next();
    row.attempt = verb.attempt;
    row.phase.clear();
    row.offer.clear();
    advance_cursor(row, verb.cursor);
    row.updated_at = now;
    return row;
}

std::optional<core::ConnectionRow> after(const core::Release& verb, core::ConnectionRow row, std::uint32_t buckets,
                                         WallTime now) {
    if (!row.owner.is(verb.session) || row.epoch != verb.epoch) {
        return std::nullopt;
    }
    row.owner = core::Owner{};
    move_bucket(row, buckets);
    row.attempt = verb.attempt;
    row.phase.clear();
    row.offer.clear();
    advance_cursor(row, verb.cursor);
    row.updated_at = now;
    return row;
}

std::optional<core::ConnectionRow> after(const PutConnection& verb, const std::optional<core::ConnectionRow>& row,
                                         const StoreInfo& info, WallTime now) {
    if (verb.desired == core::DesiredState::deleted) {
        return std::nullopt;
    }
    if (!row) {
        return new_row(verb, info, now);
    }
    if (verb.only_if_absent && row->desired != core::DesiredState::deleted) {
        return std::nullopt;
    }
    core::ConnectionRow next = *row;
    next.labels = verb.labels;
    if (next.spec != verb.spec) {
        next.spec = verb.spec;
        ++next.spec_revision;
    }
    next.desired = verb.desired;
    move_bucket(next, info.buckets);
    if (next != *row) {
        next.updated_at = now;
    }
    return next;
}

std::optional<core::ConnectionRow> after_desired(core::DesiredState desired, core::ConnectionRow row,
                                                 std::uint32_t buckets, WallTime now) {
    if (row.desired == desired) {
        return row;
    }
    if (row.desired == core::DesiredState::deleted) {
        return std::nullopt;
    }
    row.desired = desired;
    move_bucket(row, buckets);
    row.updated_at = now;
    return row;
}

bool selects(const Selector& selector, const core::Labels& labels) {
    for (const auto& [key, value] : selector) {
        const auto found = labels.find(key);
        if (found == labels.end() || found->second != value) {
            return false;
        }
    }
    return true;
}

}  // namespace longhold::store::rules
