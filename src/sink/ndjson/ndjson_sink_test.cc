// SPDX-License-Identifier: Apache-2.0
// Group commit, rotation, names and start of the NDJSON sink. Failures: failure_test.cc.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/telemetry/log.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "../test_support.h"
#include "names.h"

namespace longhold::sink {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Owner;

class NdjsonSink : public testing::Test {
protected:
    std::unique_ptr<Sink> open(NdjsonOptions options = {}) {
        options.directory = directory.path();
        options.name = "main";
        auto sink = open_ndjson_sink(options, files, clock, *log);
        EXPECT_TRUE(sink.has_value()) << sink.error().detail;
        return *std::move(sink);
    }

    // Submits, and waits until it was written, synced or not.
    void write(Sink& sink, std::unique_ptr<RecordBatch> batch) {
        const int before = files.writes;
        sink.submit(std::move(batch), collector);
        ASSERT_TRUE(test::eventually([&] { return files.writes > before; }));
    }

    // Whether another descriptor gets the file's lock.
    [[nodiscard]] bool can_lock(const std::string& name) const {
        const int descriptor = ::open((directory.path() + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
        const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
        ::close(descriptor);
        return locked;
    }

    test::TempDirectory directory;
    test::FaultyFiles files;
    test::FakeClock clock;
    std::unique_ptr<telemetry::Log> log = telemetry::Log::silent();
    Collector collector;
    Owner owner{"s1", clock};
};

TEST_F(NdjsonSink, OneSyncAcksAllThatWasWrittenBeforeIt) {
    auto sink = open({.fsync_every = 200ms});
    for (std::uint64_t n = 0; n < 20; ++n) {
        write(*sink, owner.data("c", n, 1));
    }
    EXPECT_EQ(files.syncs, 0);
    EXPECT_EQ(collector.count(), 0U);
    clock.advance(200ms);
    ASSERT_TRUE(collector.wait_for(20));
    EXPECT_EQ(files.syncs, 1);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, HurrySyncsWhatWasSubmittedBeforeItAtOnce) {
    auto sink = open({.fsync_every = 1h});
    for (std::uint64_t n = 0; n < 5; ++n) {
        sink->submit(owner.data("c", n, 1), collector);
    }
    sink->hurry();
    ASSERT_TRUE(collector.wait_for(5));
    EXPECT_EQ(files.syncs, 1);
    sink->submit(owner.data("c", 5, 1), collector);
    sink->hurry();
    ASSERT_TRUE(collector.wait_for(6));
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, AnIntervalOfZeroSyncsEachBatch) {
    auto sink = open({.fsync_every = 0ms});
    for (std::uint64_t n = 0; n < 5; ++n) {
        sink->submit(owner.data("c", n, 1), collector);
    }
    ASSERT_TRUE(collector.wait_for(5));
    EXPECT_EQ(files.syncs, 5);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, ARightThatEndsBeforeTheSyncIsRevoked) {
    auto sink = open({.fsync_every = 200ms});
    write(*sink, owner.data("c", 1, 1));
    owner.right().revoke();
    // The writer reads the clock after the write: the sync is due 200 ms after that.
    ASSERT_TRUE(test::eventually([&] {
        clock.advance(200ms);
        return !collector.deliveries().empty();
    }));
    EXPECT_EQ(collector.deliveries().front(), Delivery::revoked);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, RotatesBeforeABatchThatWouldPassTheSize) {
    auto sink = open({.fsync_every = 0ms, .rotate_bytes = 1000});
    for (std::uint64_t n = 0; n < 12; ++n) {
        sink->submit(owner.data("c", n, 2), collector);
    }
    ASSERT_TRUE(collector.wait_for(12));
    const auto names = directory.names();
    ASSERT_GT(names.size(), 2U);
    EXPECT_EQ(names[0], "s1.000001.ndjson");
    EXPECT_EQ(names[1], "s1.000002.ndjson");
    for (const std::string& name : names) {
        EXPECT_LE(directory.read(name).size(), 1000U);
        EXPECT_EQ(can_lock(name), name != names.back()) << name;
    }
    EXPECT_TRUE(sink->close(clock.now() + 5s));
    EXPECT_TRUE(can_lock(names.back()));
}

TEST_F(NdjsonSink, ARecordAboveTheSizeGetsAFileOfItsOwn) {
    auto sink = open({.fsync_every = 0ms, .rotate_bytes = 1000});
    sink->submit(owner.data("c", 1, 1), collector);
    sink->submit(owner.one("c", RecordKind::data, "2", std::string(5'000'000, 'x')), collector);
    sink->submit(owner.one("c", RecordKind::data, "3", "small"), collector);
    ASSERT_TRUE(collector.wait_for(3));
    EXPECT_EQ(directory.names().size(), 3U);
    EXPECT_GT(directory.read("s1.000002.ndjson").size(), 5'000'000U);
    auto points = sink->resume_points(owner.session());
    ASSERT_TRUE(points.has_value());
    ASSERT_EQ(points->size(), 1U);
    EXPECT_EQ(points->front().cursor.value, "3");
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, RotatesByAgeWithTheNextBatch) {
    auto sink = open({.fsync_every = 0ms, .rotate_every = 10min});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    clock.advance(9min);
    sink->submit(owner.data("c", 2, 1), collector);
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(directory.names().size(), 1U);
    clock.advance(2min);
    sink->submit(owner.data("c", 3, 1), collector);
    ASSERT_TRUE(collector.wait_for(3));
    EXPECT_EQ(directory.names().size(), 2U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, ClosesAnOldFileAlthoughNothingMoreComes) {
    auto sink = open({.fsync_every = 0ms, .rotate_every = 10min});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_FALSE(can_lock("s1.000001.ndjson"));
    clock.advance(11min);
    EXPECT_TRUE(test::eventually([&] { return can_lock("s1.000001.ndjson"); }));
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, SessionsHaveFilesOfTheirOwnAndAnEndedOneIsClosed) {
    auto sink = open({.fsync_every = 200ms});
    Owner other{"s2", clock};
    write(*sink, owner.data("c", 1, 1));
    write(*sink, other.data("c", 1, 1));
    EXPECT_EQ(directory.names(), (std::vector<std::string>{"s1.000001.ndjson", "s2.000001.ndjson"}));
    sink->end_session(owner.session());
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_TRUE(test::eventually([&] { return can_lock("s1.000001.ndjson"); }));
    EXPECT_FALSE(can_lock("s2.000001.ndjson"));
    write(*sink, owner.data("c", 2, 1));
    EXPECT_EQ(directory.names().size(), 3U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, NumbersGoOnBehindFilesThatExist) {
    directory.write("s1.000041.ndjson", "");
    directory.write("s1.notes.ndjson", "");
    directory.write("s10.000099.ndjson", "");
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_NE(directory.read("s1.000042.ndjson"), "");
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, ARevokedBatchLeavesNoFile) {
    auto sink = open();
    owner.right().revoke();
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_TRUE(directory.names().empty());
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonSink, RepairsTornLastLinesOfUnlockedFilesOnly) {
    const std::string whole = "{\"a\":1}\n";
    const std::string long_tail(200'000, 'x');
    directory.write("dead.000001.ndjson", whole);
    directory.write("dead.000002.ndjson", whole + whole + "{\"tor");
    directory.write("dead.000003.ndjson", "{\"tor");
    directory.write("dead.000004.ndjson", whole + long_tail);
    directory.write("live.000001.ndjson", whole + "{\"tor");
    directory.write("notes.txt", "no newline");
    const int live = ::open((directory.path() + "/live.000001.ndjson").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(live, LOCK_EX | LOCK_NB), 0);
    open()->close(clock.now());
    EXPECT_EQ(directory.read("dead.000001.ndjson"), whole);
    EXPECT_EQ(directory.read("dead.000002.ndjson"), whole + whole);
    EXPECT_EQ(directory.read("dead.000003.ndjson"), "");
    EXPECT_EQ(directory.read("dead.000004.ndjson"), whole);
    EXPECT_EQ(directory.read("live.000001.ndjson"), whole + "{\"tor");
    EXPECT_EQ(directory.read("notes.txt"), "no newline");
    ::close(live);
    open()->close(clock.now());
    EXPECT_EQ(directory.read("live.000001.ndjson"), whole);
}

TEST_F(NdjsonSink, RepairLeavesLinksAndDirectoriesAlone) {
    directory.write("elsewhere.txt", "no newline");
    std::filesystem::create_symlink(directory.path() + "/elsewhere.txt", directory.path() + "/link.000001.ndjson");
    std::filesystem::create_directory(directory.path() + "/folder.000001.ndjson");
    EXPECT_TRUE(open()->close(clock.now() + 5s));
    EXPECT_EQ(directory.read("elsewhere.txt"), "no newline");
}

TEST(FileName, IsTheSessionAsFarAsAFileMayBeNamedSo) {
    EXPECT_EQ(file_name(session_in_name(SessionId{"host-1.a_B"}), 7), "host-1.a_B.000007.ndjson");
    EXPECT_EQ(session_in_name(SessionId{"a/b %\xff"}), "a%2Fb%20%25%FF");
    EXPECT_EQ(session_in_name(SessionId{"../x"}), "%2E.%2Fx");
    const std::string first = session_in_name(SessionId{std::string(300, 'a') + "1"});
    const std::string second = session_in_name(SessionId{std::string(300, 'a') + "2"});
    EXPECT_EQ(first.size(), 200U);
    EXPECT_NE(first, second);
}

TEST(FileName, IsReadBack) {
    const auto parsed = parse_file_name("host-1.a.1234567.ndjson");
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->session, "host-1.a");
    EXPECT_EQ(parsed->number, 1'234'567U);
    for (const char* other : {"s.1.ndjson", "s.ndjson", ".000001.ndjson", "s.00000x.ndjson", "s.000001.json",
                              "s.99999999999999999999999.ndjson", ""}) {
        EXPECT_FALSE(parse_file_name(other).has_value()) << other;
    }
}

}  // namespace
}  // namespace longhold::sink
