// SPDX-License-Identifier: Apache-2.0
#include "threaded_store.h"

#include <longhold/runtime/event.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "verbs.h"

namespace longhold::store {
namespace {

// One call, shared between the coroutine that waits and the thread that works. `answer` and `arrived` belong to the
// loop's thread.
template <class T>
struct Call {
    explicit Call(runtime::Loop& loop) : arrived(loop) {}

    runtime::Event arrived;
    std::optional<Result<T>> answer;
    std::atomic<bool> abandoned{false};
};

// Says that nobody waits any more, however the waiting ends.
class AbandonAtEnd {
public:
    explicit AbandonAtEnd(std::atomic<bool>& abandoned) : abandoned_(abandoned) {}

    ~AbandonAtEnd() { abandoned_.store(true, std::memory_order_relaxed); }

    AbandonAtEnd(const AbandonAtEnd&) = delete;
    AbandonAtEnd& operator=(const AbandonAtEnd&) = delete;

private:
    std::atomic<bool>& abandoned_;
};

// Waiting ends a little before the deadline, so that the reason still reaches the caller in time.
Instant stop_waiting_at(Instant now, Instant deadline) {
    constexpr Duration lead_max = std::chrono::milliseconds{20};
    return deadline - std::min(lead_max, (deadline - now) / 20);
}

template <class T>
void carry_out(runtime::Loop& loop, Rows& rows, const std::shared_ptr<Call<T>>& call, Instant deadline,
               const std::function<Result<T>(Rows&)>& work) {
    const Limit limit{loop.clock(), stop_waiting_at(loop.clock().now(), deadline), call->abandoned};
    if (limit.over()) {
        return;
    }
    rows.set_limit(&limit);
    auto answer = work(rows);
    rows.set_limit(nullptr);
    if (call->abandoned.load(std::memory_order_relaxed)) {
        return;
    }
    loop.post([call, answer = std::move(answer)]() mutable {
        call->answer = std::move(answer);
        call->arrived.notify();
    });
}

}  // namespace

ThreadedStore::ThreadedStore(runtime::Loop& loop, std::shared_ptr<Lane> sessions, std::shared_ptr<Lane> connections,
                             std::function<void(const Error&)> on_write_failure)
    : loop_(loop),
      sessions_(std::move(sessions)),
      connections_(std::move(connections)),
      on_write_failure_(std::move(on_write_failure)),
      jobs_(std::make_shared<std::atomic<std::uint32_t>>(0)) {}

ThreadedStore::~ThreadedStore() {
    for (std::uint32_t left = jobs_->load(); left != 0; left = jobs_->load()) {
        jobs_->wait(left);
    }
}

template <class T>
Task<Result<T>> ThreadedStore::ask(Lane& lane, Instant deadline, Work<T> work) {
    if (loop_.clock().now() >= deadline) {
        co_return std::unexpected(Error{Errc::unavailable, "the deadline had passed before the store was asked"});
    }
    const auto call = std::make_shared<Call<T>>(loop_);
    const AbandonAtEnd abandon{call->abandoned};
    jobs_->fetch_add(1);
    const bool queued = lane.thread.submit(
        [&loop = loop_, &rows = *lane.rows, jobs = jobs_, shared = call, deadline, work = std::move(work)]() mutable {
            carry_out<T>(loop, rows, shared, deadline, work);
            shared.reset();
            work = nullptr;
            jobs->fetch_sub(1);
            jobs->notify_all();
        });
    if (!queued) {
        jobs_->fetch_sub(1);
        co_return std::unexpected(Error{Errc::unavailable, "the store's queue is full: it answers too slowly"});
    }
    while (!call->answer) {
        if (loop_.clock().now() >= deadline) {
            co_return std::unexpected(Error{Errc::unavailable, "the store did not answer by the deadline"});
        }
        co_await call->arrived.wait_until(deadline);
    }
    co_return std::move(*call->answer);
}

template <class Row>
Task<core::Outcome<Row>> ThreadedStore::write(Lane& lane, Instant deadline, Work<core::Outcome<Row>> work) {
    auto answer = co_await ask<core::Outcome<Row>>(lane, deadline, std::move(work));
    if (answer) {
        co_return std::move(*answer);
    }
    if (on_write_failure_) {
        on_write_failure_(answer.error());
    }
    co_return core::Outcome<Row>::unknown();
}

Task<ThreadedStore::ConnectionOutcomes> ThreadedStore::write_all(std::size_t count, Instant deadline,
                                                                 Work<ConnectionOutcomes> work) {
    if (count == 0) {
        co_return ConnectionOutcomes{};
    }
    auto answer = co_await ask<ConnectionOutcomes>(*connections_, deadline, std::move(work));
    if (answer) {
        co_return std::move(*answer);
    }
    if (on_write_failure_) {
        on_write_failure_(answer.error());
    }
    co_return ConnectionOutcomes(count, ConnectionOutcome::unknown());
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::join(core::Join verb, Instant deadline) {
    return write<core::SessionRow>(*sessions_, deadline,
                                   [verb = std::move(verb)](Rows& rows) { return verbs::join(rows, verb); });
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::beat(core::Beat verb, Instant deadline) {
    return write<core::SessionRow>(*sessions_, deadline,
                                   [verb = std::move(verb)](Rows& rows) { return verbs::beat(rows, verb); });
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::leave(core::Leave verb, Instant deadline) {
    return write<core::SessionRow>(*sessions_, deadline,
                                   [verb = std::move(verb)](Rows& rows) { return verbs::leave(rows, verb); });
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::fence(core::Fence verb, Instant deadline) {
    return write<core::SessionRow>(*sessions_, deadline,
                                   [verb = std::move(verb)](Rows& rows) { return verbs::fence(rows, verb); });
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::remove_session(core::RemoveSession verb, Instant deadline) {
    return write<core::SessionRow>(*connections_, deadline,
                                   [verb = std::move(verb)](Rows& rows) { return verbs::remove_session(rows, verb); });
}

Task<Result<std::vector<core::SessionRow>>> ThreadedStore::list_sessions(Instant deadline) {
    return ask<std::vector<core::SessionRow>>(*sessions_, deadline, [](Rows& rows) { return rows.sessions(); });
}

Task<Result<std::optional<core::SessionRow>>> ThreadedStore::get_session(SessionId id, Instant deadline) {
    return ask<std::optional<core::SessionRow>>(*sessions_, deadline,
                                                [id = std::move(id)](Rows& rows) { return rows.session(id); });
}

Task<Result<std::vector<core::SessionRow>>> ThreadedStore::get_sessions(std::vector<SessionId> ids, Instant deadline) {
    return ask<std::vector<core::SessionRow>>(
        *sessions_, deadline, [ids = std::move(ids)](Rows& rows) { return verbs::get_sessions(rows, ids); });
}

Task<core::Outcome<core::SessionRow>> ThreadedStore::request_drain(SessionId id, Instant deadline) {
    return write<core::SessionRow>(*connections_, deadline,
                                   [id = std::move(id)](Rows& rows) { return verbs::request_drain(rows, id); });
}

Task<std::vector<core::Outcome<core::ConnectionRow>>> ThreadedStore::claim(std::vector<core::Claim> verbs,
                                                                           Instant deadline) {
    const std::size_t count = verbs.size();
    return write_all(count, deadline,
                     [verbs = std::move(verbs)](Rows& rows) { return store::verbs::claim(rows, verbs); });
}

Task<std::vector<core::Outcome<core::ConnectionRow>>> ThreadedStore::release(std::vector<core::Release> verbs,
                                                                             Instant deadline) {
    const std::size_t count = verbs.size();
    return write_all(count, deadline,
                     [verbs = std::move(verbs)](Rows& rows) { return store::verbs::release(rows, verbs); });
}

Task<Result<ConnectionPage>> ThreadedStore::list_unowned(std::vector<std::uint32_t> buckets, ConnectionId after,
                                                         std::uint32_t limit, Instant deadline) {
    return ask<ConnectionPage>(*connections_, deadline,
                               [buckets = std::move(buckets), after = std::move(after), limit](Rows& rows) {
                                   return verbs::list_unowned(rows, buckets, after, limit);
                               });
}

Task<Result<ConnectionPage>> ThreadedStore::list_owned(SessionId session, ConnectionId after, std::uint32_t limit,
                                                       Instant deadline) {
    return ask<ConnectionPage>(*connections_, deadline,
                               [session = std::move(session), after = std::move(after), limit](Rows& rows) {
                                   return verbs::list_owned(rows, session, after, limit);
                               });
}

Task<Result<std::vector<core::ConnectionRow>>> ThreadedStore::get_connections(std::vector<ConnectionId> ids,
                                                                              Instant deadline) {
    return ask<std::vector<core::ConnectionRow>>(
        *connections_, deadline, [ids = std::move(ids)](Rows& rows) { return verbs::get_connections(rows, ids); });
}

Task<Result<ConnectionPage>> ThreadedStore::list_connections(Selector selector, bool with_deleted, ConnectionId after,
                                                             std::uint32_t limit, Instant deadline) {
    return ask<ConnectionPage>(
        *connections_, deadline,
        [selector = std::move(selector), with_deleted, after = std::move(after), limit](Rows& rows) {
            return verbs::list_connections(rows, selector, with_deleted, after, limit);
        });
}

Task<core::Outcome<core::ConnectionRow>> ThreadedStore::put_connection(PutConnection verb, Instant deadline) {
    return write<core::ConnectionRow>(
        *connections_, deadline, [verb = std::move(verb)](Rows& rows) { return verbs::put_connection(rows, verb); });
}

Task<core::Outcome<core::ConnectionRow>> ThreadedStore::set_desired(ConnectionId id, core::DesiredState desired,
                                                                    Instant deadline) {
    return write<core::ConnectionRow>(*connections_, deadline, [id = std::move(id), desired](Rows& rows) {
        return verbs::set_desired(rows, id, desired);
    });
}

Task<Result<std::uint32_t>> ThreadedStore::purge_deleted(WallTime before, std::uint32_t limit, Instant deadline) {
    return ask<std::uint32_t>(*connections_, deadline,
                              [before, limit](Rows& rows) { return verbs::purge_deleted(rows, before, limit); });
}

Task<Result<void>> ThreadedStore::write_cursor_page(core::CursorPage page, Instant deadline) {
    return ask<void>(*connections_, deadline,
                     [page = std::move(page)](Rows& rows) { return verbs::write_cursor_page(rows, page); });
}

Task<Result<std::vector<core::CursorPage>>> ThreadedStore::read_cursor_pages(SessionId session, Instant deadline) {
    return ask<std::vector<core::CursorPage>>(
        *connections_, deadline, [session = std::move(session)](Rows& rows) { return rows.cursor_pages(session); });
}

Task<Result<StoreInfo>> ThreadedStore::info(Instant deadline) {
    return ask<StoreInfo>(*connections_, deadline, [](Rows& rows) { return rows.info(); });
}

}  // namespace longhold::store
