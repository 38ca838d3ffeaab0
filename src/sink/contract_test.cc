// SPDX-License-Identifier: Apache-2.0
// What every sink keeps. A further sink joins with one more World in the list at the end.
#include <gtest/gtest.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/thread.h>
#include <longhold/sink/ndjson/ndjson_sink.h>
#include <longhold/sink/ndjson/reader.h>
#include <longhold/telemetry/log.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "test_support.h"

namespace longhold::sink {
namespace {

using namespace std::chrono_literals;
using test::Collector;
using test::Owner;

// A place for messages, and the sink in front of it.
class World {
public:
    virtual ~World() = default;
    virtual std::unique_ptr<Sink> open() = 0;
    // The place refuses everything until mend().
    virtual void fail() = 0;
    virtual void mend() = 0;
    virtual std::vector<ReadRecord> contents() = 0;

    [[nodiscard]] const runtime::Clock& clock() const { return clock_; }

protected:
    runtime::SystemClock clock_;
    std::unique_ptr<telemetry::Log> log_ = telemetry::Log::silent();
};

class NdjsonWorld final : public World {
public:
    std::unique_ptr<Sink> open() override {
        auto sink = open_ndjson_sink({.directory = directory_.path(), .name = "main", .fsync_every = 5ms}, files_,
                                     clock_, *log_);
        EXPECT_TRUE(sink.has_value());
        return *std::move(sink);
    }

    void fail() override { files_.write_error = EIO; }

    void mend() override { files_.write_error = 0; }

    std::vector<ReadRecord> contents() override {
        std::vector<ReadRecord> records;
        auto reader = NdjsonReader::open(directory_.path(), files_);
        EXPECT_TRUE(reader.has_value());
        ReadRecord record;
        while ((*reader)->next(record).value()) {
            records.push_back(record);
        }
        return records;
    }

private:
    test::TempDirectory directory_;
    test::FaultyFiles files_;
};

struct SinkKind {
    std::string_view name;
    std::unique_ptr<World> (*make)();
};

class SinkContract : public testing::TestWithParam<SinkKind> {
protected:
    // Receivers and owners outlive the sink.
    std::unique_ptr<World> world = GetParam().make();
    Collector collector;
    Owner owner{"session-1", world->clock()};
    std::unique_ptr<Sink> sink = world->open();

    Instant in(Duration duration) { return world->clock().now() + duration; }
};

TEST_P(SinkContract, KeepsTheOrderOfEachReceiver) {
    constexpr std::uint64_t batches = 50;
    std::array<Collector, 3> collectors;
    std::array<Owner, 3> owners{Owner{"a", world->clock()}, Owner{"b", world->clock()}, Owner{"c", world->clock()}};
    {
        std::vector<std::unique_ptr<runtime::Thread>> threads;
        for (std::size_t i = 0; i < owners.size(); ++i) {
            threads.push_back(std::make_unique<runtime::Thread>("submitter", [&, i] {
                for (std::uint64_t n = 0; n < batches; ++n) {
                    sink->submit(owners[i].data("c" + std::to_string(i), n * 3, 3), collectors[i]);
                }
            }));
        }
    }
    for (Collector& each : collectors) {
        ASSERT_TRUE(each.wait_for(batches));
        const auto ordinals = each.durable_ordinals();
        EXPECT_EQ(ordinals.size(), batches * 3 + 1);
        EXPECT_TRUE(std::ranges::is_sorted(ordinals));
    }
    std::map<ConnectionId, std::uint64_t> last;
    for (const ReadRecord& record : world->contents()) {
        EXPECT_EQ(record.ordinal, ++last[record.connection]);
    }
    EXPECT_EQ(last.size(), owners.size());
    EXPECT_TRUE(sink->close(in(5s)));
}

// Looks at the place whenever a batch comes back.
class Checker final : public BatchReceiver {
public:
    explicit Checker(World& world) : world_(world) {}

    void returned(std::unique_ptr<RecordBatch> batch, Delivery delivery) noexcept override {
        const auto contents = world_.contents();
        for (const RecordHeader& header : batch->records()) {
            const bool there = std::ranges::any_of(
                contents, [&](const ReadRecord& record) { return record.ordinal == header.ordinal; });
            EXPECT_EQ(there, delivery == Delivery::durable) << header.ordinal;
        }
        ++seen;
    }

    std::atomic<int> seen{0};

private:
    World& world_;
};

TEST_P(SinkContract, AcksOnlyWhatIsThere) {
    Checker checker{*world};
    for (std::uint64_t n = 0; n < 10; ++n) {
        sink->submit(owner.data("c", n * 5, 5), checker);
    }
    EXPECT_TRUE(test::eventually([&] { return checker.seen == 10; }));
    EXPECT_TRUE(sink->close(in(5s)));
}

TEST_P(SinkContract, ReturnsEachBatchExactlyOnce) {
    Owner revoked{"revoked", world->clock()};
    revoked.right().revoke();
    for (std::uint64_t n = 0; n < 40; ++n) {
        sink->submit(owner.data("c", n, 1), collector);
        sink->submit(revoked.data("r", n, 1), collector);
        if (n == 20) {
            sink->end_session(owner.session());
        }
    }
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_EQ(collector.count(), 80U);
    const auto deliveries = collector.deliveries();
    EXPECT_EQ(std::ranges::count(deliveries, Delivery::durable), 40);
    EXPECT_EQ(std::ranges::count(deliveries, Delivery::revoked), 40);
    const SinkHealth health = sink->health();
    EXPECT_EQ(health.batches, 40U);
    EXPECT_EQ(health.records, 41U);
    EXPECT_EQ(health.pending_records, 0U);
    EXPECT_EQ(health.pending_bytes, 0U);
}

TEST_P(SinkContract, WritesNothingUnderARevokedRight) {
    owner.right().revoke();
    sink->submit(owner.data("c", 1, 3), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.deliveries().front(), Delivery::revoked);
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_TRUE(world->contents().empty());
}

TEST_P(SinkContract, WritesNothingUnderARightThatRanOut) {
    auto batch = owner.data("c", 1, 3);
    auto ended = std::make_shared<runtime::ActingRight>();
    ended->extend_until(world->clock().now());
    batch->right = ended;
    sink->submit(std::move(batch), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.deliveries().front(), Delivery::revoked);
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_TRUE(world->contents().empty());
}

TEST_P(SinkContract, DiscardsWhatComesAfterClose) {
    EXPECT_TRUE(sink->close(in(5s)));
    sink->submit(owner.data("c", 1, 1), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.deliveries().front(), Delivery::discarded);
    EXPECT_TRUE(world->contents().empty());
}

TEST_P(SinkContract, CloseWritesWhatWasSubmitted) {
    for (std::uint64_t n = 0; n < 100; ++n) {
        sink->submit(owner.data("c", n, 1), collector);
    }
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_EQ(collector.durable_ordinals().size(), 101U);
    EXPECT_EQ(world->contents().size(), 101U);
}

TEST_P(SinkContract, CloseGivesBackWhatCannotBeWritten) {
    world->fail();
    sink->submit(owner.data("c", 1, 1), collector);
    sink->submit(owner.data("c", 2, 1), collector);
    EXPECT_FALSE(sink->close(in(150ms)));
    EXPECT_EQ(collector.deliveries(), (std::vector{Delivery::discarded, Delivery::discarded}));
}

TEST_P(SinkContract, AcksResumeAfterAFailure) {
    world->fail();
    sink->submit(owner.data("c", 1, 2), collector);
    sink->submit(owner.data("c", 3, 2), collector);
    ASSERT_TRUE(test::eventually([&] { return sink->health().stuck; }));
    EXPECT_FALSE(sink->health().reason.empty());
    EXPECT_GT(sink->health().failures, 0U);
    EXPECT_EQ(sink->health().pending_records, 5U);
    EXPECT_EQ(collector.count(), 0U);
    world->mend();
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(collector.durable_ordinals(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_TRUE(test::eventually([&] { return !sink->health().stuck; }));
    EXPECT_EQ(sink->health().reason, "");
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_EQ(world->contents().size(), 5U);
}

TEST_P(SinkContract, ARightThatEndsWhileTheSinkIsStuckIsRevoked) {
    world->fail();
    sink->submit(owner.data("c", 1, 2), collector);
    sink->submit(owner.data("c", 3, 2), collector);
    ASSERT_TRUE(test::eventually([&] { return sink->health().stuck; }));
    owner.right().revoke();
    ASSERT_TRUE(collector.wait_for(2));
    EXPECT_EQ(collector.deliveries(), (std::vector{Delivery::revoked, Delivery::revoked}));
    world->mend();
    EXPECT_TRUE(sink->close(in(5s)));
    EXPECT_TRUE(world->contents().empty());
}

TEST_P(SinkContract, ResumePointsAreTheLastRecordsWritten) {
    sink->submit(owner.data("a", 100, 5), collector);
    sink->submit(owner.data("b", 7, 2), collector);
    owner.claim("b", 4);
    sink->submit(owner.data("b", 20, 3), collector);
    ASSERT_TRUE(collector.wait_for(3));
    sink->end_session(owner.session());
    EXPECT_TRUE(sink->close(in(5s)));
    auto points = world->open()->resume_points(owner.session());
    ASSERT_TRUE(points.has_value());
    std::map<std::string, core::Cursor> cursors;
    for (const SinkCursor& point : *points) {
        cursors[point.connection.text()] = point.cursor;
    }
    ASSERT_EQ(cursors.size(), 2U);
    EXPECT_EQ(cursors["a"],
              (core::Cursor{.sequence_id = 0, .epoch = Epoch{1}, .ordinal = 6, .stream = 1, .value = "104"}));
    EXPECT_EQ(cursors["b"],
              (core::Cursor{.sequence_id = 0, .epoch = Epoch{4}, .ordinal = 4, .stream = 1, .value = "22"}));
}

TEST_P(SinkContract, AnUnknownSessionHasNoResumePoints) {
    sink->submit(owner.data("a", 100, 5), collector);
    ASSERT_TRUE(collector.wait_for(1));
    auto points = sink->resume_points(SessionId{"somebody-else"});
    ASSERT_TRUE(points.has_value());
    EXPECT_TRUE(points->empty());
    EXPECT_TRUE(sink->close(in(5s)));
}

TEST_P(SinkContract, ABatchWithoutRecordsIsDurable) {
    auto batch = std::make_unique<RecordBatch>();
    batch->right = owner.data("c", 1, 1)->right;
    batch->session = owner.session();
    sink->submit(std::move(batch), collector);
    ASSERT_TRUE(collector.wait_for(1));
    EXPECT_EQ(collector.deliveries().front(), Delivery::durable);
    EXPECT_TRUE(sink->close(in(5s)));
}

INSTANTIATE_TEST_SUITE_P(Sinks, SinkContract,
                         testing::Values(SinkKind{
                             "ndjson", [] { return std::unique_ptr<World>{std::make_unique<NdjsonWorld>()}; }}),
                         [](const auto& test) { return std::string{test.param.name}; });

}  // namespace
}  // namespace longhold::sink
