// SPDX-License-Identifier: Apache-2.0
// FaultyStore: another store, with verbs that fail, lose their answers or wait when a test says so.
#pragma once

#include <longhold/runtime/event.h>
#include <longhold/store/store.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace longhold::worker::test {

enum class StoreFault : std::uint8_t {
    none,
    unreachable,  // not carried out: unknown, or unavailable for a read
    answer_lost,  // carried out, and answered in the same way
};

// Thread-safety: none; lives on its loop, and tests touch it there.
class FaultyStore final : public store::Store {
public:
    FaultyStore(store::Store& inner, runtime::Loop& loop) : inner_(inner), opened_(loop) {}

    std::function<StoreFault(const std::string& verb)> fault;
    std::map<std::string, std::uint32_t> calls;

    // Calls of the verb wait from now on, until let_go().
    void hold(const std::string& verb) { held_.insert(verb); }

    void let_go() {
        held_.clear();
        opened_.notify();
    }

    using Session = core::Outcome<core::SessionRow>;
    using Row = core::Outcome<core::ConnectionRow>;
    using Rows = std::vector<Row>;
    template <class T>
    using Read = store::Result<T>;
    template <class T>
    using Task = store::Task<T>;

    Task<Session> join(core::Join verb, Instant deadline) override {
        return write<Session>("join", inner_.join(std::move(verb), deadline));
    }

    Task<Session> beat(core::Beat verb, Instant deadline) override {
        return write<Session>("beat", inner_.beat(std::move(verb), deadline));
    }

    Task<Session> leave(core::Leave verb, Instant deadline) override {
        return write<Session>("leave", inner_.leave(std::move(verb), deadline));
    }

    Task<Session> fence(core::Fence verb, Instant deadline) override {
        return write<Session>("fence", inner_.fence(std::move(verb), deadline));
    }

    Task<Session> remove_session(core::RemoveSession verb, Instant deadline) override {
        return write<Session>("remove_session", inner_.remove_session(std::move(verb), deadline));
    }

    Task<Session> request_drain(SessionId id, Instant deadline) override {
        return write<Session>("request_drain", inner_.request_drain(std::move(id), deadline));
    }

    Task<Rows> claim(std::vector<core::Claim> verbs, Instant deadline) override {
        return write_all("claim", verbs.size(), inner_.claim(verbs, deadline));
    }

    Task<Rows> release(std::vector<core::Release> verbs, Instant deadline) override {
        return write_all("release", verbs.size(), inner_.release(verbs, deadline));
    }

    Task<Row> put_connection(store::PutConnection verb, Instant deadline) override {
        return write<Row>("put_connection", inner_.put_connection(std::move(verb), deadline));
    }

    Task<Row> set_desired(ConnectionId id, core::DesiredState desired, Instant deadline) override {
        return write<Row>("set_desired", inner_.set_desired(std::move(id), desired, deadline));
    }

    Task<Read<std::vector<core::SessionRow>>> list_sessions(Instant deadline) override {
        return read("list_sessions", inner_.list_sessions(deadline));
    }

    Task<Read<std::optional<core::SessionRow>>> get_session(SessionId id, Instant deadline) override {
        return read("get_session", inner_.get_session(std::move(id), deadline));
    }

    Task<Read<std::vector<core::SessionRow>>> get_sessions(std::vector<SessionId> ids, Instant deadline) override {
        return read("get_sessions", inner_.get_sessions(std::move(ids), deadline));
    }

    Task<Read<store::ConnectionPage>> list_unowned(std::vector<std::uint32_t> buckets, ConnectionId after,
                                                   std::uint32_t limit, Instant deadline) override {
        return read("list_unowned", inner_.list_unowned(std::move(buckets), std::move(after), limit, deadline));
    }

    Task<Read<store::ConnectionPage>> list_owned(SessionId session, ConnectionId after, std::uint32_t limit,
                                                 Instant deadline) override {
        return read("list_owned", inner_.list_owned(std::move(session), std::move(after), limit, deadline));
    }

    Task<Read<std::vector<core::ConnectionRow>>> get_connections(std::vector<ConnectionId> ids,
                                                                 Instant deadline) override {
        return read("get_connections", inner_.get_connections(std::move(ids), deadline));
    }

    Task<Read<store::ConnectionPage>> list_connections(store::Selector selector, bool with_deleted, ConnectionId after,
                                                       std::uint32_t limit, Instant deadline) override {
        return read("list_connections",
                    inner_.list_connections(std::move(selector), with_deleted, std::move(after), limit, deadline));
    }

    Task<Read<std::uint32_t>> purge_deleted(WallTime before, std::uint32_t limit, Instant deadline) override {
        return read("purge_deleted", inner_.purge_deleted(before, limit, deadline));
    }

    Task<Read<void>> write_cursor_page(core::CursorPage page, Instant deadline) override {
        return read("write_cursor_page", inner_.write_cursor_page(std::move(page), deadline));
    }

    Task<Read<std::vector<core::CursorPage>>> read_cursor_pages(SessionId session, Instant deadline) override {
        return read("read_cursor_pages", inner_.read_cursor_pages(std::move(session), deadline));
    }

    Task<Read<store::StoreInfo>> info(Instant deadline) override { return read("info", inner_.info(deadline)); }

private:
    // The tasks below begin only when they are awaited: one that is not is not carried out.
    Task<StoreFault> before(std::string verb) {
        ++calls[verb];
        while (held_.contains(verb)) {
            co_await opened_.wait();
        }
        co_return fault ? fault(verb) : StoreFault::none;
    }

    template <class Outcome>
    Task<Outcome> write(std::string verb, Task<Outcome> call) {
        const auto what = co_await before(std::move(verb));
        if (what == StoreFault::unreachable) {
            co_return Outcome::unknown();
        }
        Outcome outcome = co_await std::move(call);
        co_return what == StoreFault::none ? outcome : Outcome::unknown();
    }

    Task<Rows> write_all(std::string verb, std::size_t count, Task<Rows> call) {
        const auto what = co_await before(std::move(verb));
        if (what == StoreFault::unreachable) {
            co_return Rows(count, Row::unknown());
        }
        Rows outcomes = co_await std::move(call);
        co_return what == StoreFault::none ? outcomes : Rows(count, Row::unknown());
    }

    template <class T>
    Task<Read<T>> read(std::string verb, Task<Read<T>> call) {
        const auto what = co_await before(std::move(verb));
        if (what == StoreFault::unreachable) {
            co_return std::unexpected(store::Error{store::Errc::unavailable, "unreachable, as the test wants it"});
        }
        Read<T> result = co_await std::move(call);
        if (what == StoreFault::answer_lost) {
            co_return std::unexpected(store::Error{store::Errc::unavailable, "no answer, as the test wants it"});
        }
        co_return result;
    }

    store::Store& inner_;
    runtime::Event opened_;
    std::set<std::string> held_;
};

}  // namespace longhold::worker::test
