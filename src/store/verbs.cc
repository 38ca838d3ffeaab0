// SPDX-License-Identifier: Apache-2.0
#include "verbs.h"

#include <algorithm>
#include <utility>

#include "row_text.h"
#include "rules.h"

namespace longhold::store::verbs {
namespace {

// Runs `work` in one write transaction: committed when it answers a value, rolled back when it answers an error.
template <class T, class Work>
Result<T> in_transaction(Rows& rows, Work work) {
    if (auto begun = rows.begin_write(); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    Result<T> answer = work();
    if (!answer) {
        rows.rollback();
        return answer;
    }
    if (auto committed = rows.commit(); !committed) {
        return std::unexpected(std::move(committed.error()));
    }
    return answer;
}

// Saves `next` where there is one; else the verb is refused and `current` says why.
template <class Row>
Result<core::Outcome<Row>> conclude(Rows& rows, std::optional<Row> current, std::optional<Row> next) {
    if (!next) {
        return core::Outcome<Row>::refused(std::move(current));
    }
    if (!current || *current != *next) {
        if (auto saved = rows.save(*next); !saved) {
            return std::unexpected(std::move(saved.error()));
        }
    }
    return core::Outcome<Row>::done(std::move(*next));
}

template <class Rule>
Result<Session> change_session(Rows& rows, const SessionId& id, Rule rule) {
    return in_transaction<Session>(rows, [&]() -> Result<Session> {
        auto current = rows.session(id);
        if (!current) {
            return std::unexpected(std::move(current.error()));
        }
        auto next = rule(*current);
        return conclude(rows, std::move(*current), std::move(next));
    });
}

template <class Rule>
Result<Connection> change_connection(Rows& rows, const ConnectionId& id, Rule rule) {
    auto current = rows.connection(id);
    if (!current) {
        return std::unexpected(std::move(current.error()));
    }
    auto next = rule(*current);
    return conclude(rows, std::move(*current), std::move(next));
}

// Lifts a rule on a row that exists to one that refuses where there is none.
template <class Rule>
auto of_existing(Rule rule) {
    return [rule = std::move(rule)](const auto& current) -> std::decay_t<decltype(current)> {
        if (!current) {
            return std::nullopt;
        }
        return rule(*current);
    };
}

template <class Verb, class Rule>
Result<std::vector<Connection>> change_each(Rows& rows, const std::vector<Verb>& verbs, Rule rule) {
    return in_transaction<std::vector<Connection>>(rows, [&]() -> Result<std::vector<Connection>> {
        std::vector<Connection> outcomes;
        outcomes.reserve(verbs.size());
        for (const Verb& verb : verbs) {
            auto outcome = change_connection(
                rows, verb.connection, of_existing([&](const core::ConnectionRow& row) { return rule(verb, row); }));
            if (!outcome) {
                return std::unexpected(std::move(outcome.error()));
            }
            outcomes.push_back(std::move(*outcome));
        }
        return outcomes;
    });
}

Result<ConnectionPage> to_page(Rows::Connections found, std::uint32_t limit) {
    if (!found) {
        return std::unexpected(std::move(found.error()));
    }
    ConnectionPage page{.rows = std::move(*found)};
    if (page.rows.size() > limit) {
        page.rows.resize(limit);
        page.more = true;
    }
    return page;
}

Error no_rows_asked() {
    return {Errc::invalid, "a page holds at least one row: ask for a limit of 1 or more"};
}

}  // namespace

Result<Session> join(Rows& rows, const core::Join& verb) {
    return change_session(rows, verb.row.id, [&](const std::optional<core::SessionRow>& current) {
        return current ? std::nullopt : std::optional{verb.row};
    });
}

Result<Session> beat(Rows& rows, const core::Beat& verb) {
    return change_session(rows, verb.session,
                          of_existing([&](const core::SessionRow& row) { return rules::after(verb, row); }));
}

Result<Session> leave(Rows& rows, const core::Leave& verb) {
    return change_session(rows, verb.session,
                          of_existing([&](const core::SessionRow& row) { return rules::after(verb, row); }));
}

Result<Session> fence(Rows& rows, const core::Fence& verb) {
    return change_session(rows, verb.session,
                          [&](const std::optional<core::SessionRow>& current) { return rules::after(verb, current); });
}

Result<std::vector<core::SessionRow>> get_sessions(Rows& rows, const std::vector<SessionId>& ids) {
    std::vector<core::SessionRow> found;
    for (const SessionId& id : ids) {
        auto row = rows.session(id);
        if (!row) {
            return std::unexpected(std::move(row.error()));
        }
        if (*row) {
            found.push_back(std::move(**row));
        }
    }
    return found;
}

Result<Session> request_drain(Rows& rows, const SessionId& id) {
    return change_session(rows, id, of_existing(rules::after_drain_request));
}

Result<Session> remove_session(Rows& rows, const core::RemoveSession& verb) {
    return in_transaction<Session>(rows, [&]() -> Result<Session> {
        auto current = rows.session(verb.session);
        if (!current) {
            return std::unexpected(std::move(current.error()));
        }
        if (!*current || !core::is_final((*current)->state)) {
            return Session::refused(std::move(*current));
        }
        auto owned = rows.connections_of(core::Owner::session(verb.session), ConnectionId{}, 1);
        if (!owned) {
            return std::unexpected(std::move(owned.error()));
        }
        if (!owned->empty()) {
            return Session::refused(std::move(*current));
        }
        if (auto removed = rows.remove(verb.session); !removed) {
            return std::unexpected(std::move(removed.error()));
        }
        return Session::done(std::move(**current));
    });
}

Result<std::vector<Connection>> claim(Rows& rows, const std::vector<core::Claim>& verbs) {
    return change_each(rows, verbs, [now = rows.now()](const core::Claim& verb, const core::ConnectionRow& row) {
        return rules::after(verb, row, now);
    });
}

Result<std::vector<Connection>> release(Rows& rows, const std::vector<core::Release>& verbs) {
    return change_each(rows, verbs, [&, now = rows.now()](const core::Release& verb, const core::ConnectionRow& row) {
        return rules::after(verb, row, rows.buckets(), now);
    });
}

Result<ConnectionPage> list_unowned(Rows& rows, const std::vector<std::uint32_t>& buckets, const ConnectionId& after,
                                    std::uint32_t limit) {
    if (limit == 0) {
        return std::unexpected(no_rows_asked());
    }
    std::vector<std::uint32_t> distinct = buckets;
    std::ranges::sort(distinct);
    distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
    std::vector<core::ConnectionRow> all;
    for (const std::uint32_t bucket : distinct) {
        const auto owner = core::Owner::nobody(core::DesiredState::started, bucket);
        auto found = rows.connections_of(owner, after, std::uint64_t{limit} + 1);
        if (!found) {
            return std::unexpected(std::move(found.error()));
        }
        std::ranges::move(*found, std::back_inserter(all));
    }
    std::ranges::sort(all, {}, &core::ConnectionRow::id);
    return to_page(std::move(all), limit);
}

Result<ConnectionPage> list_owned(Rows& rows, const SessionId& session, const ConnectionId& after,
                                  std::uint32_t limit) {
    if (limit == 0) {
        return std::unexpected(no_rows_asked());
    }
    const auto owner = core::Owner::from_text(session.text());
    if (!owner.is_session()) {
        return ConnectionPage{};
    }
    return to_page(rows.connections_of(owner, after, std::uint64_t{limit} + 1), limit);
}

Result<std::vector<core::ConnectionRow>> get_connections(Rows& rows, const std::vector<ConnectionId>& ids) {
    std::vector<core::ConnectionRow> found;
    for (const ConnectionId& id : ids) {
        auto row = rows.connection(id);
        if (!row) {
            return std::unexpected(std::move(row.error()));
        }
        if (*row) {
            found.push_back(std::move(**row));
        }
    }
    return found;
}

Result<ConnectionPage> list_connections(Rows& rows, const Selector& selector, bool with_deleted,
                                        const ConnectionId& after, std::uint32_t limit) {
    if (limit == 0) {
        return std::unexpected(no_rows_asked());
    }
    return to_page(rows.connections(selector, with_deleted, after, std::uint64_t{limit} + 1), limit);
}

Result<Connection> put_connection(Rows& rows, const PutConnection& verb) {
    return in_transaction<Connection>(rows, [&]() -> Result<Connection> {
        const auto info = rows.info();
        if (!info) {
            return std::unexpected(info.error());
        }
        return change_connection(rows, verb.id, [&](const std::optional<core::ConnectionRow>& row) {
            return storable(verb) ? rules::after(verb, row, *info, rows.now()) : std::nullopt;
        });
    });
}

Result<Connection> set_desired(Rows& rows, const ConnectionId& id, core::DesiredState desired) {
    return in_transaction<Connection>(rows, [&] {
        return change_connection(rows, id, of_existing([&](const core::ConnectionRow& row) {
                                     return rules::after_desired(desired, row, rows.buckets(), rows.now());
                                 }));
    });
}

Result<std::uint32_t> purge_deleted(Rows& rows, WallTime before, std::uint32_t limit) {
    return in_transaction<std::uint32_t>(rows, [&]() -> Result<std::uint32_t> {
        const auto found = rows.tombstones(before, limit);
        if (!found) {
            return std::unexpected(found.error());
        }
        const auto info = rows.info();
        if (!info) {
            return std::unexpected(info.error());
        }
        std::uint64_t floor = info->epoch_floor;
        for (const core::ConnectionRow& row : *found) {
            floor = std::max(floor, row.epoch.next().value);
        }
        if (floor != info->epoch_floor) {
            if (auto raised = rows.set_epoch_floor(floor); !raised) {
                return std::unexpected(std::move(raised.error()));
            }
        }
        for (const core::ConnectionRow& row : *found) {
            if (auto removed = rows.remove(row.id); !removed) {
                return std::unexpected(std::move(removed.error()));
            }
        }
        return static_cast<std::uint32_t>(found->size());
    });
}

Result<void> write_cursor_page(Rows& rows, const core::CursorPage& page) {
    if (auto text = storable(page); !text) {
        return text;
    }
    return in_transaction<void>(rows, [&]() -> Result<void> {
        const auto session = rows.session(page.session);
        if (!session) {
            return std::unexpected(session.error());
        }
        if (!*session) {
            return std::unexpected(Error{
                Errc::not_found, "no session " + page.session.text() + " to keep a cursor page for: it was removed"});
        }
        return rows.save(page);
    });
}

}  // namespace longhold::store::verbs
