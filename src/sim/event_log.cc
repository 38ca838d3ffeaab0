// SPDX-License-Identifier: Apache-2.0
#include "event_log.h"

#include <cstdio>
#include <cstring>

namespace longhold::sim {
namespace {

// Takes fields in as a hash.
class Hashed {
public:
    explicit Hashed(std::uint64_t& hash) : hash_(hash) {}

    void word(std::string_view /*name*/) {}

    void field(std::string_view /*name*/, std::uint64_t value) {
        hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15ULL;
        hash_ ^= hash_ >> 29U;
    }

    void field(std::string_view name, std::string_view value) {
        std::uint64_t part = value.size();
        while (!value.empty()) {
            const std::size_t bytes = std::min<std::size_t>(value.size(), 8);
            std::uint64_t chunk = 0;
            std::memcpy(&chunk, value.data(), bytes);
            field(name, part ^ chunk);
            part = 0;
            value.remove_prefix(bytes);
        }
        field(name, part);
    }

private:
    std::uint64_t& hash_;
};

// Takes fields in as text.
class Written {
public:
    explicit Written(std::string& line) : line_(line) {}

    void word(std::string_view name) { (line_ += ' ') += name; }

    void field(std::string_view name, std::uint64_t value) { field(name, std::string_view{std::to_string(value)}); }

    void field(std::string_view name, std::string_view value) { (((line_ += ' ') += name) += '=') += value; }

private:
    std::string& line_;
};

template <class Out>
void put(Out& out, std::string_view name, Instant value) {
    out.field(name, static_cast<std::uint64_t>(value.time_since_epoch().count()));
}

template <class Out>
void put(Out& out, const std::optional<core::Cursor>& cursor) {
    if (cursor) {
        out.field("cursor_epoch", cursor->epoch.value);
        out.field("ordinal", cursor->ordinal);
        out.field("value", cursor->value);
    }
}

template <class Out>
void put(Out& out, const core::SessionRow& row) {
    out.field("session", row.id.text());
    out.field("state", core::text(row.state));
    out.field("counter", row.counter);
    out.field("attempt", row.attempt.text());
    out.field("load", row.load);
    out.field("generation", row.generation);
}

template <class Out>
void put(Out& out, const core::ConnectionRow& row) {
    out.field("connection", row.id.text());
    out.field("desired", core::text(row.desired));
    out.field("owner", row.owner.text());
    out.field("epoch", row.epoch.value);
    out.field("attempt", row.attempt.text());
    out.field("revision", row.spec_revision);
    put(out, row.cursor);
}

template <class Out, class Row>
void put(Out& out, const core::Outcome<Row>& outcome) {
    constexpr std::array<std::string_view, 3> verdicts{"done", "refused", "unknown"};
    out.field("verdict", verdicts.at(static_cast<std::size_t>(outcome.verdict)));
    if (outcome.row) {
        put(out, *outcome.row);
    }
}

// ---- requests

template <class Out>
void put(Out& out, const core::Join& verb) {
    out.word("join");
    put(out, verb.row);
}

template <class Out>
void put(Out& out, const core::Beat& verb) {
    out.word("beat");
    out.field("session", verb.session.text());
    out.field("counter", verb.counter_expected);
    out.field("attempt", verb.attempt.text());
    out.field("state", core::text(verb.state));
    out.field("load", verb.load);
}

template <class Out>
void put(Out& out, const core::Leave& verb) {
    out.word("leave");
    out.field("session", verb.session.text());
    out.field("attempt", verb.attempt.text());
}

template <class Out>
void put(Out& out, const core::Fence& verb) {
    out.word("fence");
    out.field("session", verb.session.text());
    out.field("attempt", verb.attempt.text());
    if (verb.counter_expected) {
        out.field("counter", *verb.counter_expected);
    }
    out.field("create", verb.create_if_absent ? 1 : 0);
}

template <class Out>
void put(Out& out, const core::RemoveSession& verb) {
    out.word("remove");
    out.field("session", verb.session.text());
}

template <class Out>
void put(Out& out, const core::Claims& verb) {
    out.word("claim");
    for (const auto& item : verb.items) {
        out.field("connection", item.connection.text());
        out.field("owner", item.owner_expected.text());
        out.field("epoch", item.epoch_expected.value);
        out.field("session", item.session.text());
        out.field("attempt", item.attempt.text());
        put(out, item.cursor);
    }
}

template <class Out>
void put(Out& out, const core::Releases& verb) {
    out.word("release");
    for (const auto& item : verb.items) {
        out.field("connection", item.connection.text());
        out.field("epoch", item.epoch.value);
        out.field("session", item.session.text());
        out.field("attempt", item.attempt.text());
        put(out, item.cursor);
    }
}

template <class Out>
void put(Out& out, const core::ListSessions& /*read*/) {
    out.word("list_sessions");
}

template <class Out>
void put(Out& out, const core::GetSession& read) {
    out.word("get_session");
    out.field("session", read.session.text());
}

template <class Out>
void put(Out& out, const core::GetSessions& read) {
    out.word("get_sessions");
    for (const auto& session : read.ids) {
        out.field("session", session.text());
    }
}

template <class Out>
void put(Out& out, const core::ListUnowned& read) {
    out.word("list_unowned");
    for (const auto bucket : read.buckets) {
        out.field("bucket", bucket);
    }
    out.field("after", read.after.text());
}

template <class Out>
void put(Out& out, const core::ListOwned& read) {
    out.word("list_owned");
    out.field("session", read.session.text());
    out.field("after", read.after.text());
}

template <class Out>
void put(Out& out, const core::ListAll& read) {
    out.word("list_all");
    out.field("after", read.after.text());
}

template <class Out>
void put(Out& out, const core::GetConnections& read) {
    out.word("get_connections");
    out.field("purpose", static_cast<std::uint64_t>(read.purpose));
    for (const auto& id : read.ids) {
        out.field("connection", id.text());
    }
}

template <class Out>
void put(Out& out, const core::ReadTakeover& read) {
    out.word("read_takeover");
    out.field("session", read.session.text());
}

// ---- answers

template <class Out>
void put(Out& out, const core::ReadFailed& /*answer*/) {
    out.word("read failed");
}

template <class Out, class Row>
void put(Out& out, const std::vector<core::Outcome<Row>>& outcomes) {
    for (const auto& outcome : outcomes) {
        put(out, outcome);
    }
}

template <class Out>
void put(Out& out, const core::SessionsRead& read) {
    for (const auto& row : read.rows) {
        put(out, row);
    }
}

template <class Out>
void put(Out& out, const core::SessionRead& read) {
    if (read.row) {
        put(out, *read.row);
    }
}

template <class Out>
void put(Out& out, const core::RowsRead& read) {
    for (const auto& row : read.rows) {
        put(out, row);
    }
    out.field("more", read.more ? 1 : 0);
}

template <class Out>
void put(Out& out, const core::TakeoverRead& read) {
    for (const auto& [id, cursor] : read.cursors) {
        out.field("connection", id.text());
        put(out, std::optional{cursor});
    }
}

// ---- commands

template <class Out>
void put(Out& out, const core::Call& call) {
    out.field("call", call.id);
    std::visit([&out](const auto& request) { put(out, request); }, call.request);
}

template <class Out>
void put(Out& out, const core::ExtendRight& command) {
    out.word("extend_right");
    out.field("session", command.session.text());
    put(out, "until", command.deadline);
}

template <class Out>
void put(Out& out, const core::DropSession& command) {
    out.word("drop_session");
    out.field("session", command.session.text());
    out.field("reason", core::text(command.reason));
}

template <class Out>
void put(Out& out, const core::WantSession& /*command*/) {
    out.word("want_session");
}

template <class Out>
void put(Out& out, const core::OpenConnection& command) {
    out.word("open");
    put(out, command.row);
    out.field("held_before", command.held_before ? 1 : 0);
}

template <class Out>
void put(Out& out, const core::CloseConnection& command) {
    out.word("close");
    out.field("connection", command.connection.text());
    out.field("epoch", command.epoch.value);
    out.field("reason", core::text(command.reason));
}

template <class Out>
void put(Out& out, const core::AbortConnection& command) {
    out.word("abort");
    out.field("connection", command.connection.text());
    out.field("epoch", command.epoch.value);
}

template <class Out>
void put(Out& out, const core::UpdateConnection& command) {
    out.word("update");
    put(out, command.row);
}

template <class Out>
void put(Out& out, const core::Hint& hint) {
    out.field("kind", core::text(hint.kind));
    out.field("about", hint.session.text());
    for (const auto& connection : hint.connections) {
        out.field("connection", connection.text());
    }
}

template <class Out>
void put(Out& out, const core::TellPeer& command) {
    out.word("tell");
    out.field("peer", command.peer.text());
    put(out, command.hint);
}

template <class Out>
void put(Out& out, const core::Hinted& event) {
    out.word("hinted");
    put(out, event.hint);
}

template <class Out>
void put(Out& out, const core::DrainAsked& /*command*/) {
    out.word("drain_asked");
}

template <class Out>
void put(Out& out, const core::Drained& command) {
    out.word("drained");
    out.field("session_lost", command.session_lost ? 1 : 0);
}

template <class Out>
void put(Out& out, const core::SessionEnded& command) {
    out.word("session_ended");
    out.field("left", command.left ? 1 : 0);
}

template <class Out>
void put(Out& out, const core::Notice& notice) {
    out.field("news", core::text(notice.news));
    out.field("session", notice.session.text());
    out.field("connection", notice.connection.text());
    out.field("epoch", notice.epoch.value);
}

// ---- events

template <class Out>
void put(Out& out, const core::Start& event) {
    out.word("start");
    out.field("session", event.session.text());
}

template <class Out>
void put(Out& out, const core::Tick& /*event*/) {
    out.word("tick");
}

template <class Out>
void put(Out& out, const core::Answered& event) {
    out.field("answer_to", event.id);
    std::visit([&out](const auto& answer) { put(out, answer); }, event.answer);
}

template <class Out>
void put(Out& out, const core::Closed& event) {
    out.word("closed");
    out.field("connection", event.connection.text());
    out.field("epoch", event.epoch.value);
    put(out, event.cursor);
}

template <class Out>
void put(Out& out, const core::LoopStuck& event) {
    out.word("loop_stuck");
    for (const auto& closed : event.connections) {
        put(out, closed);
    }
}

template <class Out>
void put(Out& out, const core::AllLoopsStuck& /*event*/) {
    out.word("all_loops_stuck");
}

template <class Out>
void put(Out& out, const core::BeginDrain& /*event*/) {
    out.word("begin_drain");
}

template <class Out>
void put(Out& out, const core::HandOver& event) {
    out.word("hand_over");
    for (const auto& [id, bytes] : event.pending_bytes) {
        out.field("connection", id.text());
        out.field("bytes", bytes);
    }
}

template <class Out>
void put(Out& out, const core::EndSession& /*event*/) {
    out.word("end_session");
}

std::string opening(Nanos now) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%12.6f", static_cast<double>(now) / 1e9);
    return text.data();
}

// Both forms of one entry. Variants of variants: the index keeps kinds without fields apart.
template <class What>
void enter(std::uint64_t& hash, const std::function<void(const std::string&)>& lines, Nanos now, std::uint32_t process,
           std::string_view arrow, const What& what) {
    Hashed hashed{hash};
    hashed.field("at", static_cast<std::uint64_t>(now));
    hashed.field("who", std::uint64_t{process} << 8U | what.index());
    std::visit([&hashed](const auto& each) { put(hashed, each); }, what);
    if (lines) {
        std::string line = opening(now) + " p" + std::to_string(process) + ' ' + std::string{arrow};
        Written written{line};
        std::visit([&written](const auto& each) { put(written, each); }, what);
        lines(line);
    }
}

}  // namespace

void EventLog::event(Nanos now, std::uint32_t process, const core::Event& event) {
    enter(hash_, lines_, now, process, "<-", event);
}

void EventLog::command(Nanos now, std::uint32_t process, const core::Command& command) {
    enter(hash_, lines_, now, process, "->", command);
}

void EventLog::note(Nanos now, std::string_view what, std::uint64_t a, std::uint64_t b) {
    Hashed hashed{hash_};
    hashed.field("at", static_cast<std::uint64_t>(now));
    hashed.field("note", what);
    hashed.field("a", a);
    hashed.field("b", b);
    if (lines_) {
        lines_(opening(now) + "    " + std::string{what} + ' ' + std::to_string(a) + ' ' + std::to_string(b));
    }
}

}  // namespace longhold::sim
