// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/overloaded.h>

#include <algorithm>
#include <utility>

#include "ids.h"
#include "world.h"

namespace longhold::sim {
namespace {

constexpr std::uint32_t page_entries = 100;

bool is_write(const core::Request& request) {
    constexpr std::size_t first_read = 5;  // Join, Beat, Leave, Fence, RemoveSession come before
    return request.index() < first_read || std::holds_alternative<core::Claims>(request) ||
           std::holds_alternative<core::Releases>(request);
}

// Takes one from the free list, or makes one.
template <class T>
std::uint32_t take(std::vector<T>& all, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
        all.emplace_back();
        return static_cast<std::uint32_t>(all.size() - 1);
    }
    const std::uint32_t number = free.back();
    free.pop_back();
    all[number] = T{};
    return number;
}

}  // namespace

std::uint32_t World::new_letter() {
    return take(letters_, letters_free_);
}

void World::unuse(std::uint32_t letter) {
    if (--letters_[letter].uses == 0) {
        letters_free_.push_back(letter);
    }
}

void World::dispatch(std::uint32_t number, const Fate& fate) {
    Letter& letter = letters_[number];
    if (plant_ == Plant::recovery_slow && now_ > 20 * second && std::holds_alternative<core::Claims>(letter.request)) {
        ++letter.uses;
        queue_.push(letter.times_out_at, Due::call_times_out, number);
        return;
    }
    letter.back = fate.back;
    letter.lag = fate.index_lag;
    letter.error = fate.error;
    const bool again_answers = fate.again && fate.again_answers && !fate.call_lost;
    const Nanos heard_at = now_ + fate.there + (again_answers ? fate.again_after : 0) + fate.back;
    const bool heard = !fate.call_lost && !fate.answer_lost && heard_at <= letter.times_out_at;
    letter.answers = heard && !again_answers;
    if (!fate.call_lost) {
        ++letter.uses;
        queue_.push(now_ + fate.there, Due::call_arrives, number);
    }
    if (!heard) {
        ++letter.uses;
        queue_.push(fate.refused_at_once ? std::min(now_ + 2 * millisecond, letter.times_out_at) : letter.times_out_at,
                    Due::call_times_out, number);
    }
    if (fate.again && !fate.call_lost) {
        const std::uint32_t copy = new_letter();
        letters_[copy] = letters_[number];  // a new letter may have moved all others
        letters_[copy].answers = heard && again_answers;
        letters_[copy].uses = 1;
        sometimes(again_answers, "an answer was replaced by that to a repeated call");
        queue_.push(now_ + fate.there + fate.again_after, Due::call_arrives, copy);
    }
}

void World::arrive(std::uint32_t number) {
    core::Answer answer = apply(letters_[number]);
    Letter& letter = letters_[number];
    mark_late(letter, answer);
    if (letter.answers) {
        letter.answer = std::move(answer);
        ++letter.uses;
        queue_.push(now_ + letter.back, Due::answer_arrives, number);
    }
    unuse(number);
}

core::Answer World::apply(const Letter& letter) {
    const core::Request& request = letter.request;
    const core::EngineConfig& config = plan_.config;
    if (!is_write(request)) {
        const bool index =
            std::holds_alternative<core::ListUnowned>(request) || std::holds_alternative<core::ListOwned>(request);
        if (index && letter.lag > 0) {
            ++faults_.at(static_cast<std::size_t>(FaultKind::stale_index));
            const auto rows = former_.as_of(now_ - letter.lag, store_.connections);
            sometimes(true, "an index was stale");
            auto read = ModelStore::read_index(request, rows, config.page_size);
            sometimes(std::ranges::any_of(read.rows,
                                          [this](const auto& row) {
                                              const auto& current = store_.connections.at(row.id);
                                              return current.owner != row.owner || current.epoch != row.epoch;
                                          }),
                      "a stale index showed a row with another owner or epoch");
            return read;
        }
        if (const auto* read = std::get_if<core::ReadTakeover>(&request)) {
            return take_over(*read, store_.apply(request, config));
        }
        return store_.apply(request, config);
    }
    const std::uint64_t writes_before = store_.writes;
    if (const auto* claims = std::get_if<core::Claims>(&request)) {
        for (const auto& item : claims->items) {
            former_.changes(now_, store_.connections.at(item.connection));
        }
    } else if (const auto* releases = std::get_if<core::Releases>(&request)) {
        for (const auto& item : releases->items) {
            former_.changes(now_, store_.connections.at(item.connection));
        }
    }
    check_cursors(request);
    checker_.before_write(request);
    core::Answer answer = store_.apply(request, config);
    if (plant_ != Plant::none) {
        plant_in_store(request);
    }
    checker_.after_write(now_, request, answer);
    const bool of_owners =
        std::holds_alternative<core::Claims>(request) || std::holds_alternative<core::Releases>(request);
    (of_owners ? owner_writes_ : session_writes_) += store_.writes - writes_before;
    return answer;
}

// What the store's pages say, and where the sink is further, what the sink says.
core::Answer World::take_over(const core::ReadTakeover& read, core::Answer pages) const {
    // Also without a fault the sink may be too slow for the read's deadline: then the pages alone count.
    if (slow_sinks_ > 0 || (!plan_.quiet && read.session.text().back() == '7')) {
        sometimes(true, "the sink's word on a dead session did not come");
        return pages;
    }
    delivery_.add_resume_points(read.session, std::get<core::TakeoverRead>(pages).cursors);
    return pages;
}

void World::check_cursors(const core::Request& request) {
    const auto check = [this](const ConnectionId& id, const std::optional<core::Cursor>& cursor, const char* verb) {
        if (cursor && !delivery_.covers(number_of(id), *cursor)) {
            checker_.violate(now_, Invariant::cursor_ahead,
                             std::string{verb} + " of " + id.text() + " has a cursor ahead of what the sink holds");
        }
    };
    if (const auto* claims = std::get_if<core::Claims>(&request)) {
        for (const auto& item : claims->items) {
            check(item.connection, item.cursor, "a claim");
        }
    } else if (const auto* releases = std::get_if<core::Releases>(&request)) {
        for (const auto& item : releases->items) {
            check(item.connection, item.cursor, "a release");
        }
    }
}

void World::mark_late(const Letter& letter, const core::Answer& answer) const {
    const bool late = !letter.answers && now_ > letter.times_out_at;
    const bool dead = !processes_[letter.process]->alive();
    const bool done = std::visit(Overloaded{[](const core::Outcome<core::SessionRow>& outcome) {
                                                return outcome.verdict == core::Verdict::done;
                                            },
                                            [](const std::vector<core::Outcome<core::ConnectionRow>>& outcomes) {
                                                return std::ranges::any_of(outcomes, [](const auto& outcome) {
                                                    return outcome.verdict == core::Verdict::done;
                                                });
                                            },
                                            [](const auto& /*read*/) { return false; }},
                                 answer);
    const core::Request& request = letter.request;
    sometimes(dead && done, "a dead process's write landed after its death");
    if (const auto* fence = std::get_if<core::Fence>(&request)) {
        sometimes(late && !done, "a late fence was refused");
        sometimes(!done && fence->counter_expected && !fence->create_if_absent &&
                      store_.sessions.contains(fence->session) &&
                      !core::is_final(store_.sessions.at(fence->session).state),
                  "a fence found that the heartbeat had come after all");
    }
    sometimes(late && done && std::holds_alternative<core::Beat>(request),
              "a heartbeat landed after its caller had given it up");
    sometimes(late && !done && std::holds_alternative<core::Claims>(request), "a late claim was refused");
    sometimes(late && !done && std::holds_alternative<core::Releases>(request), "a late release was refused");
}

void World::plant_in_store(const core::Request& request) {
    const auto* claims = std::get_if<core::Claims>(&request);
    if (plant_ == Plant::epoch_back && claims != nullptr && now_ > 10 * second) {
        auto& row = store_.connections.at(claims->items.front().connection);
        row.epoch.value -= row.epoch.value > 0 ? 2 : 0;
    } else if (plant_ == Plant::cursor_back && std::holds_alternative<core::Releases>(request)) {
        store_.connections.at(std::get<core::Releases>(request).items.front().connection).cursor.reset();
    } else if (plant_ == Plant::row_created && claims != nullptr) {
        store_.put("c" + std::to_string(plan_.connections));
    } else if (plant_ == Plant::session_revived && std::holds_alternative<core::Fence>(request)) {
        for (auto& [id, row] : store_.sessions) {
            row.state = core::SessionState::active;
        }
    } else if (plant_ == Plant::beats_too_often && std::holds_alternative<core::Beat>(request)) {
        session_writes_ += 99;
    }
}

// ---- cursor pages
// ------------------------------------------------------------------------------------------------------

void World::checkpoint(Process& process) {
    queue_.push(now_ + plan_.checkpoint_every, Due::checkpoint, process.number);
    if (!process.may_act(now_)) {
        return;
    }
    process.page_dirty.resize(plan_.connections / page_entries + 1);
    for (const auto& [connection, socket] : process.sockets) {
        auto cursor = socket.tracker.cursor();
        if (!cursor) {
            continue;
        }
        const auto [noted, fresh] = process.noted.try_emplace(connection, *cursor);
        if (fresh || core::further(*cursor, noted->second)) {
            noted->second = *cursor;
            process.page_dirty[connection / page_entries] = true;
        }
    }
    for (std::uint32_t page = 0; page < process.page_dirty.size(); ++page) {
        if (!process.page_dirty[page]) {
            continue;
        }
        std::vector<core::CursorEntry> entries;
        for (auto noted = process.noted.lower_bound(page * page_entries);
             noted != process.noted.end() && noted->first < (page + 1) * page_entries; ++noted) {
            entries.push_back(core::CursorEntry{connection_id(noted->first), noted->second});
            if (plant_ == Plant::cursor_ahead) {
                auto& cursor = entries.back().cursor;
                cursor.ordinal += 1'000;
                cursor.value = std::to_string(std::stoull(cursor.value) + 1'000);
            }
        }
        const Fate fate = network_.fate(process.slot);
        process.page_dirty[page] = fate.call_lost || fate.answer_lost || fate.error;
        if (fate.call_lost) {
            continue;
        }
        const auto number = take(pages_, pages_free_);
        pages_[number] =
            PageWrite{.process = process.number, .session = process.session, .entries = std::move(entries)};
        queue_.push(now_ + fate.there, Due::page_arrives, number);
    }
}

void World::page_arrives(std::uint32_t number) {
    const PageWrite& page = pages_[number];
    for (const auto& entry : page.entries) {
        if (!delivery_.covers(number_of(entry.id), entry.cursor)) {
            checker_.violate(now_, Invariant::cursor_ahead,
                             "a cursor page has " + entry.id.text() + " ahead of what the sink holds");
        }
    }
    const auto row = store_.sessions.find(page.session);
    sometimes(row == store_.sessions.end() || core::is_final(row->second.state),
              "a page was written after its session was final");
    ++page_writes_;
    store_.write_page(page.session, page.entries);
    pages_free_.push_back(number);
}

}  // namespace longhold::sim
