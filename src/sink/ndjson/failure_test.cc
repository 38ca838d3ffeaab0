// SPDX-License-Identifier: Apache-2.0
// What the NDJSON sink does when files fail.
#include <gtest/gtest.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/sink/ndjson/reader.h>
#include <longhold/telemetry/log.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "../test_support.h"

namespace longhold::sink {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Owner;

class NdjsonFailure : public testing::Test {
protected:
    std::unique_ptr<Sink> open(NdjsonOptions options) {
        if (options.directory.empty()) {
            options.directory = directory.path();
        }
        options.name = "main";
        auto sink = open_ndjson_sink(options, files, clock, *log);
        EXPECT_TRUE(sink.has_value()) << sink.error().detail;
        return *std::move(sink);
    }

    // Ordinals of all whole lines; each must be a record.
    std::vector<std::uint64_t> ordinals(const std::string& path) {
        std::vector<std::uint64_t> found;
        auto reader = NdjsonReader::open(path, files);
        ReadRecord record;
        while (true) {
            auto more = (*reader)->next(record);
            EXPECT_TRUE(more.has_value()) << more.error().detail;
            if (!more || !*more) {
                break;
            }
            found.push_back(record.ordinal);
        }
        EXPECT_EQ((*reader)->torn_tails(), 0U);
        return found;
    }

    std::vector<std::uint64_t> ordinals() { return ordinals(directory.path()); }

    static std::vector<std::uint64_t> up_to(std::uint64_t last) {
        std::vector<std::uint64_t> all;
        for (std::uint64_t n = 1; n <= last; ++n) {
            all.push_back(n);
        }
        return all;
    }

    test::TempDirectory directory;
    test::FaultyFiles files;
    runtime::SystemClock clock;
    std::unique_ptr<telemetry::Log> log = telemetry::Log::silent();
    Collector collector;
    Owner owner{"s1", clock};
};

TEST_F(NdjsonFailure, ShortWritesGoOnFromTheVeryByte) {
    files.write_bytes_max = 7;
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 5), collector);
    sink->submit(owner.data("c", 6, 5), collector);
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(ordinals(), up_to(11));
    EXPECT_EQ(files.truncates, 0);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, AFullDiskLeavesNoTornLineAndRecovers) {
    files.room = 1000;
    auto sink = open({.fsync_every = 0ms});
    for (std::uint64_t n = 0; n < 4; ++n) {
        sink->submit(owner.data("c", n * 4, 4), collector);
    }
    ASSERT_TRUE(test::eventually([&] { return sink->health().stuck; }));
    EXPECT_NE(sink->health().reason.find("No space left on device"), std::string::npos);
    EXPECT_NE(sink->health().reason.find(directory.path()), std::string::npos);
    ASSERT_TRUE(collector.wait_for(1));
    const std::string stuck = directory.read_all();
    EXPECT_TRUE(stuck.ends_with('\n'));
    EXPECT_LT(stuck.size(), 1000U);
    files.room = std::int64_t{1} << 40;
    ASSERT_TRUE(collector.wait_for(4));
    EXPECT_EQ(ordinals(), up_to(17));
    EXPECT_EQ(collector.durable_ordinals(), up_to(17));
    EXPECT_EQ(directory.names().size(), 1U);
    EXPECT_TRUE(test::eventually([&] { return !sink->health().stuck; }));
    EXPECT_GT(sink->health().failures, 0U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, WhatWasWrittenBeforeTheDiskWasFullIsAcked) {
    auto sink = open({.fsync_every = 1h});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(test::eventually([&] { return files.writes == 1; }));
    files.room = 0;
    sink->submit(owner.data("c", 2, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.durable_ordinals(), up_to(2));
    EXPECT_FALSE(sink->close(clock.now()));
}

TEST_F(NdjsonFailure, ATornLineThatCannotBeCutAtOnceIsCutBeforeTheNextWrite) {
    files.room = 700;
    files.truncate_error = ENOSPC;
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 8), collector);
    ASSERT_TRUE(test::eventually([&] { return sink->health().failures >= 2; }));
    files.room = std::int64_t{1} << 40;
    files.truncate_error = 0;
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(ordinals(), up_to(9));
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, ARightThatEndsInTheMiddleOfABatchLeavesWholeLines) {
    files.write_bytes_max = 50;
    files.before_write = [&] {
        if (files.writes == 10) {
            owner.right().revoke();
        }
    };
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 20), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.deliveries().front(), Delivery::revoked);
    EXPECT_EQ(files.writes, 10);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
    EXPECT_TRUE(directory.read_all().ends_with('\n'));
    EXPECT_EQ(ordinals(), up_to(ordinals().size()));
    EXPECT_GT(ordinals().size(), 1U);
}

TEST_F(NdjsonFailure, AfterAFailedSyncAllThatIsUnackedGoesToANewFile) {
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    files.failing_syncs = 1;
    sink->submit(owner.data("c", 2, 2), collector);
    sink->submit(owner.data("c", 4, 2), collector);
    ASSERT_TRUE(collector.wait_for(3));
    EXPECT_EQ(collector.durable_ordinals(), up_to(6));
    EXPECT_EQ(directory.names().size(), 2U);
    // Acked before the failure: only in the first. Unacked then: in the second, whatever the first holds.
    EXPECT_EQ(directory.read("s1.000002.ndjson").find("\"ordinal\":2,"), std::string::npos);
    for (std::uint64_t n = 3; n <= 6; ++n) {
        EXPECT_NE(directory.read("s1.000002.ndjson").find("\"ordinal\":" + std::to_string(n) + ","), std::string::npos);
    }
    EXPECT_EQ(sink->health().failures, 1U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, WhileSyncsFailOnlyOneBatchAtATimeIsWrittenAgain) {
    auto sink = open({.fsync_every = 50ms});
    files.failing_syncs = 3;
    for (std::uint64_t n = 0; n < 50; ++n) {
        sink->submit(owner.data("c", n, 1, std::string(1000, 'x')), collector);
    }
    ASSERT_TRUE(collector.wait_for(50));
    EXPECT_EQ(collector.durable_ordinals(), up_to(51));
    EXPECT_EQ(directory.names().size(), 4U);
    EXPECT_LT(directory.read("s1.000002.ndjson").size(), 3000U);
    EXPECT_LT(directory.read("s1.000003.ndjson").size(), 3000U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, ASyncThatFailsAtRotationOrAtASessionsEndLosesNothing) {
    auto sink = open({.fsync_every = 1h, .rotate_bytes = 1000});
    sink->submit(owner.data("c", 1, 3), collector);
    ASSERT_TRUE(test::eventually([&] { return files.writes == 1; }));
    files.failing_syncs = 1;
    sink->submit(owner.data("c", 4, 6), collector);
    ASSERT_TRUE(collector.wait_for(1));
    files.failing_syncs = 1;
    sink->end_session(owner.session());
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(collector.durable_ordinals(), up_to(10));
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, AFileThatCannotBeWrittenForAnotherReasonIsLeft) {
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    files.write_error = EFBIG;
    sink->submit(owner.data("c", 2, 1), collector);
    ASSERT_TRUE(test::eventually([&] { return sink->health().failures >= 2; }));
    EXPECT_LE(directory.names().size(), 2U);
    files.write_error = 0;
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(ordinals(), up_to(3));
    EXPECT_EQ(directory.names().size(), 2U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, FilesThatCannotBeCreatedLeaveNoTrail) {
    files.create_error = EMFILE;
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(test::eventually([&] { return sink->health().stuck; }));
    files.failing_directory_syncs = 1;
    files.create_error = 0;
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(directory.names().size(), 1U);
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

TEST_F(NdjsonFailure, CloseDoesNotWaitForAWriteThatTheKernelHolds) {
    files.hold_writes();
    auto sink = open({.fsync_every = 0ms});
    sink->submit(owner.data("c", 1, 1), collector);
    sink->submit(owner.data("c", 2, 1), collector);
    ASSERT_TRUE(test::eventually([&] { return files.is_holding(); }));
    const Instant from = clock.now();
    EXPECT_FALSE(sink->close(from + 50ms));
    EXPECT_LT(clock.now() - from, 2s);
    EXPECT_EQ(collector.deliveries(), (std::vector{Delivery::discarded, Delivery::discarded}));
    sink->submit(owner.data("c", 3, 1), collector);
    EXPECT_EQ(collector.count(), 3U);
    const int writes = files.writes;
    files.let_go();
    ASSERT_TRUE(test::eventually([&] { return !files.is_holding(); }));
    sink.reset();
    EXPECT_EQ(files.writes, writes);
}

// A file system of its own, of 64 KiB.
class SmallDisk {
public:
    explicit SmallDisk(const std::string& path) : path_(path) {
        ::mkdir(path.c_str(), 0700);
        error_ = ::mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=700") == 0 ? 0 : errno;
    }

    ~SmallDisk() {
        if (error_ == 0) {
            ::umount2(path_.c_str(), MNT_DETACH);
        }
    }

    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    [[nodiscard]] int error() const { return error_; }

private:
    std::string path_;
    int error_;
};

TEST_F(NdjsonFailure, ARealFullDiskPausesAndRecovers) {
    const std::string path = directory.path() + "/disk";
    const SmallDisk disk{path};
    if (disk.error() != 0) {
        GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(disk.error());
    }
    directory.write("disk/ballast", std::string(32 * 1024, 'b'));
    auto sink = open({.directory = path, .fsync_every = 0ms});
    for (std::uint64_t n = 0; n < 10; ++n) {
        sink->submit(owner.data("c", n * 4, 4, std::string(1000, 'x')), collector);
    }
    ASSERT_TRUE(test::eventually([&] { return sink->health().stuck; }));
    EXPECT_NE(sink->health().reason.find("No space left on device"), std::string::npos);
    EXPECT_LT(collector.count(), 10U);
    EXPECT_TRUE(directory.read("disk/s1.000001.ndjson").ends_with('\n'));
    std::filesystem::remove(path + "/ballast");
    ASSERT_TRUE(collector.wait_for(10));
    EXPECT_EQ(ordinals(path), up_to(41));
    EXPECT_TRUE(sink->close(clock.now() + 5s));
}

}  // namespace
}  // namespace longhold::sink
