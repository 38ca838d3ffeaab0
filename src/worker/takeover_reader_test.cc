// SPDX-License-Identifier: Apache-2.0
#include "takeover_reader.h"

#include <longhold/store/memory.h>

#include <latch>

#include "faulty_store.h"
#include "test_support.h"

namespace longhold::worker {
namespace {

using namespace test;

core::Cursor cursor(std::uint64_t epoch, std::uint64_t ordinal, std::uint64_t revision) {
    return {.sequence_id = revision,
            .epoch = Epoch{epoch},
            .ordinal = ordinal,
            .stream = 1,
            .value = std::to_string(100 * epoch + ordinal)};
}

class TakeoverReaderTest : public testing::Test {
protected:
    TakeoverReaderTest() {
        add_session(control_, *memory_, session_);
        control_.on([this] { reader_.emplace(control_.loop(), store_, sink_, log_.log()); });
    }

    ~TakeoverReaderTest() override {
        control_.on([this] {
            reader_.reset();
            memory_.reset();
        });
    }

    void page(std::uint32_t number, std::vector<core::CursorEntry> entries) {
        const auto written = control_.await([&] {
            return memory_->write_cursor_page({.session = session_, .number = number, .entries = std::move(entries)},
                                              clock_.now() + 10s);
        });
        ASSERT_TRUE(written);
    }

    void sink_has(std::vector<sink::SinkCursor> cursors) {
        sink_.points = [cursors](const SessionId&) { return cursors; };
    }

    std::optional<core::TakeoverRead> read(Duration within = 10s) {
        return control_.await([&] { return reader_->read(session_, clock_.now() + within); });
    }

    runtime::SystemClock clock_;
    QuietLog log_{clock_};
    FakeSink sink_{clock_};
    ControlThread control_{clock_};
    std::unique_ptr<store::Store> memory_ = store::open_memory_store(store::make_memory_state(clock_), control_.loop());
    FaultyStore store_{*memory_, control_.loop()};
    SessionId session_{"dead"};
    ConnectionId a_{"a"};
    ConnectionId b_{"b"};
    ConnectionId c_{"c"};
    std::optional<TakeoverReader> reader_;
};

TEST_F(TakeoverReaderTest, TheLaterOfPageAndSinkCounts) {
    page(0, {{a_, cursor(3, 10, 7)}, {b_, cursor(3, 10, 7)}});
    sink_has({{a_, cursor(3, 12, 0)}, {b_, cursor(3, 8, 0)}, {c_, cursor(2, 1, 0)}});
    const auto got = read();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->cursors.at(a_), cursor(3, 12, 7)) << "the page knows the spec's revision";
    EXPECT_EQ(got->cursors.at(b_), cursor(3, 10, 7));
    EXPECT_EQ(got->cursors.at(c_), cursor(2, 1, 0));
}

TEST_F(TakeoverReaderTest, ARevisionOfAnotherEpochIsNotTheSinkCursors) {
    page(0, {{a_, cursor(3, 10, 7)}});
    sink_has({{a_, cursor(5, 1, 0)}});
    const auto got = read();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->cursors.at(a_), cursor(5, 1, 0));
}

TEST_F(TakeoverReaderTest, APageThatAConnectionHasLeftDoesNotWin) {
    page(0, {{a_, cursor(5, 2, 1)}});
    page(1, {{a_, cursor(3, 90, 1)}});  // from before it was given away and claimed anew
    const auto got = read();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->cursors.at(a_), cursor(5, 2, 1));
}

TEST_F(TakeoverReaderTest, WhenTheSinkFailsThePagesCount) {
    page(0, {{a_, cursor(3, 10, 7)}});
    sink_.points = [](const SessionId&) -> sink::Result<std::vector<sink::SinkCursor>> {
        return std::unexpected(sink::Error{sink::Errc::unavailable, "no such folder"});
    };
    const auto got = read();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->cursors, (std::map<ConnectionId, core::Cursor>{{a_, cursor(3, 10, 7)}}));
}

TEST_F(TakeoverReaderTest, WhenTheSinkIsLateThePagesCountWithinTheTime) {
    page(0, {{a_, cursor(3, 10, 7)}});
    std::latch go_on{1};
    sink_.points = [&](const SessionId&) {
        go_on.wait();
        return std::vector<sink::SinkCursor>{{a_, cursor(3, 99, 0)}};
    };
    const auto got = read(400ms);
    go_on.count_down();
    ASSERT_TRUE(got) << "half of the time is kept for the store";
    EXPECT_EQ(got->cursors, (std::map<ConnectionId, core::Cursor>{{a_, cursor(3, 10, 7)}}));
    sink_has({{a_, cursor(3, 12, 0)}});
    EXPECT_EQ(read()->cursors.at(a_), cursor(3, 12, 7)) << "a late answer is nobody else's";
}

TEST_F(TakeoverReaderTest, WithoutTheStoreNothingIsKnown) {
    control_.on([this] { store_.fault = [](const std::string&) { return StoreFault::unreachable; }; });
    sink_has({{a_, cursor(3, 12, 0)}});
    EXPECT_EQ(read(), std::nullopt);
}

}  // namespace
}  // namespace longhold::worker
