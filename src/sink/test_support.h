// SPDX-License-Identifier: Apache-2.0
// What the tests of this layer share: a clock to set, a receiver that remembers, batches, and files that fail on
// demand.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/runtime/clock.h>
#include <longhold/sink/ndjson/files.h>
#include <longhold/sink/record.h>
#include <longhold/sink/sink.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::sink::test {

class FakeClock final : public runtime::Clock {
public:
    [[nodiscard]] Instant now() const override { return Instant{Duration{now_.load()}}; }

    [[nodiscard]] WallTime wall_now() const override { return WallTime{}; }

    void advance(Duration duration) { now_ += duration.count(); }

private:
    std::atomic<Duration::rep> now_{Duration{std::chrono::hours{1}}.count()};
};

// A directory that is removed with all in it.
class TempDirectory {
public:
    TempDirectory();
    ~TempDirectory();
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

    // Names of the files in it, sorted.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::string read(const std::string& name) const;
    // All files, in the order of their names.
    [[nodiscard]] std::string read_all() const;
    void write(const std::string& name, std::string_view text) const;

private:
    std::string path_;
};

// Polls `holds` until it does, ten seconds at most.
[[nodiscard]] bool eventually(const std::function<bool()>& holds);

struct Returned {
    std::unique_ptr<RecordBatch> batch;
    Delivery delivery;
};

class Collector final : public BatchReceiver {
public:
    void returned(std::unique_ptr<RecordBatch> batch, Delivery delivery) noexcept override;

    // Waits until `count` batches have come back in all, ten seconds at most; returns whether they have.
    [[nodiscard]] bool wait_for(std::size_t count);
    [[nodiscard]] std::size_t count() const;
    // Of those that came back, in order.
    [[nodiscard]] std::vector<Delivery> deliveries() const;
    // Ordinals of the records that came back durable, in order.
    [[nodiscard]] std::vector<std::uint64_t> durable_ordinals() const;

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Returned> returned_;
};

// One session's owner of one or more connections: makes batches with running ordinals and sequences.
class Owner {
public:
    // A right that ends an hour after `clock`'s now.
    Owner(const std::string& session, const runtime::Clock& clock);

    // A data record each, from sequence `seq_from` on; the epoch opens with a state record before the first.
    [[nodiscard]] std::unique_ptr<RecordBatch> data(const std::string& connection, std::uint64_t seq_from,
                                                    std::size_t count, std::string_view body = "hello");
    [[nodiscard]] std::unique_ptr<RecordBatch> one(const std::string& connection, RecordKind kind, std::string_view seq,
                                                   std::string_view body);
    // The connection's next epoch begins, with ordinals from 1.
    void claim(const std::string& connection, std::uint64_t epoch);
    void next_stream(const std::string& connection);

    [[nodiscard]] runtime::ActingRight& right() { return *right_; }

    [[nodiscard]] const SessionId& session() const { return session_; }

private:
    struct Connection {
        std::vector<std::unique_ptr<Origin>> origins;
        std::uint64_t ordinal = 0;
        std::uint32_t stream = 1;
    };

    [[nodiscard]] Connection& connection_of(const std::string& connection);
    [[nodiscard]] std::unique_ptr<RecordBatch> empty_batch() const;
    void append(RecordBatch& batch, Connection& connection, RecordKind kind, std::string_view seq,
                std::string_view body) const;

    SessionId session_;
    std::shared_ptr<runtime::ActingRight> right_;
    std::map<std::string, Connection> connections_;
};

// The kernel's files, with faults. Thread-safety: all members may be called from any thread.
class FaultyFiles final : public Files {
public:
    std::atomic<int> writes{0};
    std::atomic<int> syncs{0};  // that succeeded
    std::atomic<int> truncates{0};
    std::atomic<int> failing_syncs{0};            // the next ones fail with EIO
    std::atomic<int> failing_directory_syncs{0};  // likewise
    std::atomic<int> create_error{0};
    std::atomic<int> write_error{0};
    std::atomic<int> truncate_error{0};
    std::atomic<std::int64_t> room{std::int64_t{1} << 60};  // bytes until the disk is full
    std::atomic<std::size_t> write_bytes_max{std::size_t{1} << 60U};
    std::function<void()> before_write;  // set before use

    // Keeps the next write inside until let_go().
    void hold_writes() { held_ = true; }

    void let_go();

    [[nodiscard]] bool is_holding() const { return holding_; }

    IoResult<int> create(const std::string& path) override;
    IoResult<int> open_to_read(const std::string& path) override;
    IoResult<int> open_to_repair(const std::string& path) override;
    IoResult<bool> lock(int descriptor) override;
    IoResult<std::size_t> write(int descriptor, std::string_view text) override;
    IoResult<std::size_t> read(int descriptor, char* out, std::size_t size, std::uint64_t offset) override;
    IoResult<std::uint64_t> size(int descriptor) override;
    IoResult<void> sync(int descriptor) override;
    IoResult<void> truncate(int descriptor, std::uint64_t size) override;
    void close(int descriptor) override;
    IoResult<void> remove(const std::string& path) override;
    IoResult<std::vector<std::string>> list(const std::string& directory) override;
    IoResult<void> sync_directory(const std::string& directory) override;
    IoResult<void> make_directory(const std::string& directory) override;
    IoResult<void> check_directory(const std::string& directory) override;

private:
    Files& real_ = system_files();
    std::atomic<bool> held_{false};
    std::atomic<bool> holding_{false};
};

}  // namespace longhold::sink::test
