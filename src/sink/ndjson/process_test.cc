// SPDX-License-Identifier: Apache-2.0
// What a process that is killed in the middle of its writes leaves behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <longhold/runtime/clock.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/sink/ndjson/reader.h>
#include <longhold/telemetry/log.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <thread>

#include "../test_support.h"

namespace longhold::sink {
namespace {

using namespace std::chrono_literals;

// Tells the parent each acked ordinal through a pipe.
class Teller final : public BatchReceiver {
public:
    explicit Teller(int pipe) : pipe_(pipe) {}

    void returned(std::unique_ptr<RecordBatch> batch, Delivery delivery) noexcept override {
        const std::uint64_t ordinal = batch->records().back().ordinal;
        if (delivery == Delivery::durable && ::write(pipe_, &ordinal, sizeof ordinal) < 0) {
            ::_exit(2);
        }
        --pending;
    }

    std::atomic<int> pending{0};

private:
    int pipe_;
};

// Writes for ever, in short writes, until it is killed.
[[noreturn]] void write_for_ever(const std::string& directory, int pipe) {
    const runtime::SystemClock clock;
    const auto log = telemetry::Log::silent();
    test::FaultyFiles files;
    files.write_bytes_max = 61;
    test::Owner owner{"victim", clock};
    Teller teller{pipe};
    auto sink =
        open_ndjson_sink({.directory = directory, .fsync_every = 1ms, .rotate_bytes = 20'000}, files, clock, *log);
    for (std::uint64_t seq = 1; sink.has_value(); seq += 3) {
        while (teller.pending > 50) {
            std::this_thread::yield();
        }
        ++teller.pending;
        (*sink)->submit(owner.data("c", seq, 3), teller);
    }
    ::_exit(1);
}

TEST(NdjsonProcess, AKilledWriterLeavesWholeLinesAndOneTornTailAtMost) {
    const test::TempDirectory directory;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        write_for_ever(directory.path(), ends[1]);
    }
    ::close(ends[1]);
    std::uint64_t acked = 0;
    while (acked < 1000) {
        ASSERT_EQ(::read(ends[0], &acked, sizeof acked), static_cast<ssize_t>(sizeof acked));
    }
    // The writer lives: what it holds is not repaired, whatever it looks like.
    const runtime::SystemClock clock;
    const auto log = telemetry::Log::silent();
    auto during = open_ndjson_sink({.directory = directory.path()}, system_files(), clock, *log);
    ASSERT_TRUE(during.has_value());
    EXPECT_TRUE((*during)->close(clock.now() + 5s));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (std::uint64_t told = 0; ::read(ends[0], &told, sizeof told) > 0;) {
        acked = told;
    }
    ::close(ends[0]);

    auto sink = open_ndjson_sink({.directory = directory.path()}, system_files(), clock, *log);
    ASSERT_TRUE(sink.has_value());
    auto reader = NdjsonReader::open(directory.path(), system_files());
    ASSERT_TRUE(reader.has_value());
    ReadRecord record;
    std::uint64_t last = 0;
    while (true) {
        auto more = (*reader)->next(record);
        ASSERT_TRUE(more.has_value()) << more.error().detail;
        if (!*more) {
            break;
        }
        EXPECT_EQ(record.ordinal, ++last);
    }
    EXPECT_EQ((*reader)->torn_tails(), 0U);
    EXPECT_GE(last, acked);
    auto points = (*sink)->resume_points(SessionId{"victim"});
    ASSERT_TRUE(points.has_value());
    ASSERT_EQ(points->size(), 1U);
    EXPECT_EQ(points->front().cursor.ordinal, last);
    EXPECT_EQ(points->front().cursor.value, std::to_string(last - 1));
    EXPECT_TRUE((*sink)->close(clock.now() + 5s));
}

}  // namespace
}  // namespace longhold::sink
