// SPDX-License-Identifier: Apache-2.0
// ThreadedStore: a Store over Rows that block, each set of rows on its own thread.
//
// Session verbs have a lane of their own, so that heartbeats never queue behind scans. A call ends at its deadline
// whatever its lane does: work that has not begun by then is never run, work that has is told to stop.
#pragma once

#include <longhold/store/store.h>

#include <functional>
#include <memory>

#include "job_thread.h"
#include "rows.h"

namespace longhold::store {

// Rows, and the thread that alone touches them.
struct Lane {
    Lane(const std::string& name, const runtime::Clock& clock, std::unique_ptr<Rows> its_rows)
        : rows(std::move(its_rows)), thread(name, clock) {}

    std::unique_ptr<Rows> rows;
    JobThread thread;  // joined before the rows go
};

class ThreadedStore final : public Store {
public:
    // The lanes may be one, and may be shared with other stores. `on_write_failure` may be empty.
    ThreadedStore(runtime::Loop& loop, std::shared_ptr<Lane> sessions, std::shared_ptr<Lane> connections,
                  std::function<void(const Error&)> on_write_failure);
    // Waits until none of its jobs is queued or running.
    ~ThreadedStore() override;
    ThreadedStore(const ThreadedStore&) = delete;
    ThreadedStore& operator=(const ThreadedStore&) = delete;

    Task<core::Outcome<core::SessionRow>> join(core::Join verb, Instant deadline) override;
    Task<core::Outcome<core::SessionRow>> beat(core::Beat verb, Instant deadline) override;
    Task<core::Outcome<core::SessionRow>> leave(core::Leave verb, Instant deadline) override;
    Task<core::Outcome<core::SessionRow>> fence(core::Fence verb, Instant deadline) override;
    Task<core::Outcome<core::SessionRow>> remove_session(core::RemoveSession verb, Instant deadline) override;
    Task<Result<std::vector<core::SessionRow>>> list_sessions(Instant deadline) override;
    Task<Result<std::optional<core::SessionRow>>> get_session(SessionId id, Instant deadline) override;
    Task<Result<std::vector<core::SessionRow>>> get_sessions(std::vector<SessionId> ids, Instant deadline) override;
    Task<core::Outcome<core::SessionRow>> request_drain(SessionId id, Instant deadline) override;

    Task<std::vector<core::Outcome<core::ConnectionRow>>> claim(std::vector<core::Claim> verbs,
                                                                Instant deadline) override;
    Task<std::vector<core::Outcome<core::ConnectionRow>>> release(std::vector<core::Release> verbs,
                                                                  Instant deadline) override;

    Task<Result<ConnectionPage>> list_unowned(std::vector<std::uint32_t> buckets, ConnectionId after,
                                              std::uint32_t limit, Instant deadline) override;
    Task<Result<ConnectionPage>> list_owned(SessionId session, ConnectionId after, std::uint32_t limit,
                                            Instant deadline) override;
    Task<Result<std::vector<core::ConnectionRow>>> get_connections(std::vector<ConnectionId> ids,
                                                                   Instant deadline) override;
    Task<Result<ConnectionPage>> list_connections(Selector selector, bool with_deleted, ConnectionId after,
                                                  std::uint32_t limit, Instant deadline) override;

    Task<core::Outcome<core::ConnectionRow>> put_connection(PutConnection verb, Instant deadline) override;
    Task<core::Outcome<core::ConnectionRow>> set_desired(ConnectionId id, core::DesiredState desired,
                                                         Instant deadline) override;
    Task<Result<std::uint32_t>> purge_deleted(WallTime before, std::uint32_t limit, Instant deadline) override;

    Task<Result<void>> write_cursor_page(core::CursorPage page, Instant deadline) override;
    Task<Result<std::vector<core::CursorPage>>> read_cursor_pages(SessionId session, Instant deadline) override;

    Task<Result<StoreInfo>> info(Instant deadline) override;

private:
    template <class T>
    using Work = std::function<Result<T>(Rows&)>;
    using SessionOutcome = core::Outcome<core::SessionRow>;
    using ConnectionOutcome = core::Outcome<core::ConnectionRow>;
    using ConnectionOutcomes = std::vector<ConnectionOutcome>;

    // Runs `work` on the lane's thread; its answer, or `unavailable` at the deadline.
    template <class T>
    Task<Result<T>> ask(Lane& lane, Instant deadline, Work<T> work);
    template <class Row>
    Task<core::Outcome<Row>> write(Lane& lane, Instant deadline, Work<core::Outcome<Row>> work);
    Task<ConnectionOutcomes> write_all(std::size_t count, Instant deadline, Work<ConnectionOutcomes> work);

    runtime::Loop& loop_;
    std::shared_ptr<Lane> sessions_;
    std::shared_ptr<Lane> connections_;
    std::function<void(const Error&)> on_write_failure_;
    std::shared_ptr<std::atomic<std::uint32_t>> jobs_;  // queued or running
};

}  // namespace longhold::store
