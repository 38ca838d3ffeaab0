// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/overloaded.h>
#include <longhold/sim/model_store.h>

#include <algorithm>

namespace longhold::sim {

using namespace core;

namespace {

// The rows of `all` after `after` that `wanted` lets through, one page of them.
template <class Wanted>
RowsRead page(const std::map<ConnectionId, ConnectionRow>& all, const ConnectionId& after, std::uint32_t limit,
              Wanted wanted) {
    RowsRead read;
    for (const auto& [id, row] : all) {
        if (id <= after || !wanted(row)) {
            continue;
        }
        if (read.rows.size() == limit) {
            read.more = true;
            break;
        }
        read.rows.push_back(row);
    }
    return read;
}

}  // namespace

void ModelStore::put(const std::string& id, DesiredState desired) {
    const ConnectionId name{id};
    connections[name] = ConnectionRow{.id = name,
                                      .spec = "{}",
                                      .spec_revision = 1,
                                      .desired = desired,
                                      .owner = Owner::nobody(desired, bucket_of(name, 16))};
}

void ModelStore::want(const std::string& id, DesiredState desired) {
    auto& row = connections.at(ConnectionId{id});
    row.desired = desired;
    if (!row.owner.is_session()) {
        row.owner = Owner::nobody(desired, bucket_of(row.id, 16));
    }
}

Outcome<SessionRow> ModelStore::join(const Join& verb) {
    const auto [entry, fresh] = sessions.try_emplace(verb.row.id, verb.row);
    return fresh ? Outcome<SessionRow>::done(entry->second) : Outcome<SessionRow>::refused(entry->second);
}

Outcome<SessionRow> ModelStore::beat(const Beat& verb) {
    const auto entry = sessions.find(verb.session);
    if (entry == sessions.end()) {
        return Outcome<SessionRow>::refused(std::nullopt);
    }
    auto& row = entry->second;
    if (is_final(row.state) || row.counter != verb.counter_expected) {
        return Outcome<SessionRow>::refused(row);
    }
    ++row.counter;
    row.attempt = verb.attempt;
    row.state = verb.state;
    row.load = verb.load;
    return Outcome<SessionRow>::done(row);
}

Outcome<SessionRow> ModelStore::leave(const Leave& verb) {
    const auto entry = sessions.find(verb.session);
    if (entry == sessions.end()) {
        return Outcome<SessionRow>::refused(std::nullopt);
    }
    if (is_final(entry->second.state)) {
        return Outcome<SessionRow>::refused(entry->second);
    }
    entry->second.state = SessionState::left;
    entry->second.attempt = verb.attempt;
    return Outcome<SessionRow>::done(entry->second);
}

Outcome<SessionRow> ModelStore::fence(const Fence& verb) {
    auto entry = sessions.find(verb.session);
    if (entry == sessions.end()) {
        if (!verb.create_if_absent) {
            return Outcome<SessionRow>::refused(std::nullopt);
        }
        entry = sessions.try_emplace(verb.session, SessionRow{.id = verb.session}).first;
    } else if (is_final(entry->second.state) ||
               (verb.counter_expected && *verb.counter_expected != entry->second.counter)) {
        return Outcome<SessionRow>::refused(entry->second);
    }
    entry->second.state = SessionState::fenced;
    entry->second.attempt = verb.attempt;
    return Outcome<SessionRow>::done(entry->second);
}

Outcome<SessionRow> ModelStore::remove(const RemoveSession& verb) {
    const auto entry = sessions.find(verb.session);
    if (entry == sessions.end()) {
        return Outcome<SessionRow>::refused(std::nullopt);
    }
    const bool named =
        std::ranges::any_of(connections, [&](const auto& each) { return each.second.owner.is(verb.session); });
    if (!is_final(entry->second.state) || named) {
        return Outcome<SessionRow>::refused(entry->second);
    }
    const SessionRow row = entry->second;
    sessions.erase(entry);
    pages.erase(verb.session);
    return Outcome<SessionRow>::done(row);
}

Outcome<ConnectionRow> ModelStore::claim(const Claim& verb) {
    const auto entry = connections.find(verb.connection);
    if (entry == connections.end()) {
        return Outcome<ConnectionRow>::refused(std::nullopt);
    }
    auto& row = entry->second;
    if (row.owner != verb.owner_expected || row.epoch != verb.epoch_expected || row.desired != DesiredState::started) {
        return Outcome<ConnectionRow>::refused(row);
    }
    row.owner = Owner::session(verb.session);
    row.epoch = row.epoch.next();
    row.attempt = verb.attempt;
    if (further(verb.cursor, row.cursor)) {
        row.cursor = verb.cursor;
    }
    return Outcome<ConnectionRow>::done(row);
}

Outcome<ConnectionRow> ModelStore::release(const Release& verb) {
    const auto entry = connections.find(verb.connection);
    if (entry == connections.end()) {
        return Outcome<ConnectionRow>::refused(std::nullopt);
    }
    auto& row = entry->second;
    if (!row.owner.is(verb.session) || row.epoch != verb.epoch) {
        return Outcome<ConnectionRow>::refused(row);
    }
    row.owner = Owner::nobody(row.desired, bucket_of(row.id, 16));
    row.attempt = verb.attempt;
    if (further(verb.cursor, row.cursor)) {
        row.cursor = verb.cursor;
    }
    return Outcome<ConnectionRow>::done(row);
}

RowsRead ModelStore::read_index(const Request& request, const Connections& rows, std::uint32_t limit) {
    if (const auto* owned = std::get_if<ListOwned>(&request)) {
        return page(rows, owned->after, limit, [&](const ConnectionRow& row) { return row.owner.is(owned->session); });
    }
    const auto& unowned = std::get<ListUnowned>(request);
    return page(rows, unowned.after, limit, [&](const ConnectionRow& row) {
        return row.desired == DesiredState::started && !row.owner.is_session() &&
               std::ranges::find(unowned.buckets, bucket_of(row.id, 16)) != unowned.buckets.end();
    });
}

void ModelStore::write_page(const SessionId& session, const std::vector<CursorEntry>& entries) {
    ++writes;
    if (!sessions.contains(session)) {
        return;
    }
    auto& page = pages[session];
    for (const auto& entry : entries) {
        page.insert_or_assign(entry.id, entry.cursor);
    }
}

Answer ModelStore::apply(const Request& request, const EngineConfig& config) {
    const auto limit = config.page_size;
    return std::visit(
        Overloaded{[&](const Join& verb) -> Answer { return ++writes, join(verb); },
                   [&](const Beat& verb) -> Answer { return ++writes, beat(verb); },
                   [&](const Leave& verb) -> Answer { return ++writes, leave(verb); },
                   [&](const Fence& verb) -> Answer { return ++writes, fence(verb); },
                   [&](const RemoveSession& verb) -> Answer { return ++writes, remove(verb); },
                   [&](const Claims& verb) -> Answer {
                       std::vector<Outcome<ConnectionRow>> outcomes;
                       for (const auto& item : verb.items) {
                           ++writes;
                           outcomes.push_back(claim(item));
                       }
                       return outcomes;
                   },
                   [&](const Releases& verb) -> Answer {
                       std::vector<Outcome<ConnectionRow>> outcomes;
                       for (const auto& item : verb.items) {
                           ++writes;
                           outcomes.push_back(release(item));
                       }
                       return outcomes;
                   },
                   [&](const ListSessions&) -> Answer {
                       SessionsRead read;
                       for (const auto& [id, row] : sessions) {
                           read.rows.push_back(row);
                       }
                       return read;
                   },
                   [&](const GetSession& asked) -> Answer {
                       const auto entry = sessions.find(asked.session);
                       return SessionRead{entry == sessions.end() ? std::nullopt : std::optional{entry->second}};
                   },
                   [&](const ListUnowned&) -> Answer { return read_index(request, connections, limit); },
                   [&](const ListOwned&) -> Answer { return read_index(request, connections, limit); },
                   [&](const ListAll& asked) -> Answer {
                       return page(connections, asked.after, limit, [](const ConnectionRow&) { return true; });
                   },
                   [&](const GetConnections& asked) -> Answer {
                       RowsRead read;
                       for (const auto& id : asked.ids) {
                           if (const auto entry = connections.find(id); entry != connections.end()) {
                               read.rows.push_back(entry->second);
                           }
                       }
                       return read;
                   },
                   [&](const ReadTakeover& asked) -> Answer { return TakeoverRead{pages[asked.session]}; },
                   [&](const GetSessions& asked) -> Answer {
                       SessionsRead read;
                       for (const auto& id : asked.ids) {
                           if (const auto entry = sessions.find(id); entry != sessions.end()) {
                               read.rows.push_back(entry->second);
                           }
                       }
                       return read;
                   }},
        request);
}

}  // namespace longhold::sim
