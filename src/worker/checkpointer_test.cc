// SPDX-License-Identifier: Apache-2.0
#include "checkpointer.h"

#include <longhold/store/memory.h>

#include "faulty_store.h"
#include "test_support.h"

namespace longhold::worker {
namespace {

using namespace test;

class CheckpointerTest : public testing::Test {
protected:
    CheckpointerTest() {
        add_session(control_, *memory_, session_);
        add_session(control_, *memory_, SessionId{"s2"});
        control_.on([this] { points_.begin(session_); });
    }

    ~CheckpointerTest() override {
        control_.on([this] { memory_.reset(); });
    }

    static ConnectionId id(int number) { return ConnectionId{"c" + std::to_string(1000 + number)}; }

    static core::Cursor cursor(std::uint64_t ordinal, std::uint64_t revision = 1) {
        return {.sequence_id = revision,
                .epoch = Epoch{1},
                .ordinal = ordinal,
                .stream = 1,
                .value = std::to_string(ordinal)};
    }

    bool write() {
        return control_.await([this] { return points_.write(clock_.now() + 10s); });
    }

    std::map<ConnectionId, core::Cursor> stored(const SessionId& session) {
        std::map<ConnectionId, core::Cursor> all;
        const auto pages = control_.await([&] { return memory_->read_cursor_pages(session, clock_.now() + 10s); });
        for (const auto& page : *pages) {
            EXPECT_LE(page.entries.size(), Checkpointer::page_entries);
            for (const auto& entry : page.entries) {
                EXPECT_TRUE(all.emplace(entry.id, entry.cursor).second) << "in two pages: " << entry.id.text();
            }
        }
        return all;
    }

    std::uint32_t writes() {
        return control_.on([this] { return store_.calls["write_cursor_page"]; });
    }

    runtime::SystemClock clock_;
    telemetry::Metrics metrics_;
    ControlThread control_{clock_};
    std::unique_ptr<store::Store> memory_ = store::open_memory_store(store::make_memory_state(clock_), control_.loop());
    FaultyStore store_{*memory_, control_.loop()};
    SessionId session_{"s1"};
    Checkpointer points_{store_, metrics_};
};

TEST_F(CheckpointerTest, WritesOnePagePerHundredConnectionsThatMoved) {
    for (int i = 0; i < 250; ++i) {
        points_.moved(id(i), cursor(1));
    }
    EXPECT_TRUE(write());
    EXPECT_EQ(writes(), 3U);
    EXPECT_EQ(stored(session_).size(), 250U);

    EXPECT_TRUE(write());
    EXPECT_EQ(writes(), 3U) << "nothing has moved";

    points_.moved(id(120), cursor(2));
    EXPECT_TRUE(write());
    EXPECT_EQ(writes(), 4U);
    EXPECT_EQ(stored(session_).at(id(120)), cursor(2));
}

TEST_F(CheckpointerTest, ACursorThatIsNotFurtherChangesNothing) {
    points_.moved(id(1), cursor(5));
    points_.moved(id(1), cursor(4));
    EXPECT_EQ(points_.known(id(1)), cursor(5));
    ASSERT_TRUE(write());
    points_.moved(id(1), cursor(5));
    ASSERT_TRUE(write());
    EXPECT_EQ(writes(), 1U);
}

TEST_F(CheckpointerTest, AForgottenConnectionLeavesItsPageAndItsPlace) {
    for (int i = 0; i < 100; ++i) {
        points_.moved(id(i), cursor(1));
    }
    ASSERT_TRUE(write());
    points_.forget(id(7));
    EXPECT_EQ(points_.known(id(7)), std::nullopt);
    points_.forget(id(7));

    points_.moved(id(100), cursor(1));  // takes the free place: no second page
    EXPECT_TRUE(write());
    EXPECT_EQ(writes(), 2U);
    const auto all = stored(session_);
    EXPECT_EQ(all.size(), 100U);
    EXPECT_FALSE(all.contains(id(7)));
    EXPECT_TRUE(all.contains(id(100)));
}

TEST_F(CheckpointerTest, APageThatCouldNotBeWrittenStaysDue) {
    for (int i = 0; i < 150; ++i) {
        points_.moved(id(i), cursor(1));
    }
    control_.on([this] {
        store_.fault = [this](const std::string& verb) {
            return store_.calls[verb] == 1 ? StoreFault::unreachable : StoreFault::none;
        };
    });
    EXPECT_FALSE(write());
    EXPECT_EQ(stored(session_).size(), 50U);
    EXPECT_TRUE(write());
    EXPECT_EQ(writes(), 3U) << "only the one that failed is written again";
    EXPECT_EQ(stored(session_).size(), 150U);
}

TEST_F(CheckpointerTest, WhatMovesDuringAWriteIsWrittenNextTime) {
    points_.moved(id(1), cursor(1));
    control_.on([this] { store_.hold("write_cursor_page"); });
    auto written = std::async(std::launch::async, [this] { return write(); });
    ASSERT_TRUE(eventually([this] { return writes() == 1; }));
    control_.on([this] {
        points_.moved(id(1), cursor(2));
        store_.let_go();
    });
    EXPECT_TRUE(written.get());
    EXPECT_EQ(stored(session_).at(id(1)), cursor(1));
    EXPECT_TRUE(write());
    EXPECT_EQ(stored(session_).at(id(1)), cursor(2));
}

TEST_F(CheckpointerTest, AnotherSessionDuringAWriteInheritsNothing) {
    for (int i = 0; i < 150; ++i) {
        points_.moved(id(i), cursor(1));
    }
    control_.on([this] {
        store_.hold("write_cursor_page");
        store_.fault = [](const std::string&) { return StoreFault::unreachable; };
    });
    auto written = std::async(std::launch::async, [this] { return write(); });
    ASSERT_TRUE(eventually([this] { return writes() == 1; }));
    control_.on([this] {
        points_.begin(SessionId{"s2"});
        points_.moved(id(1), cursor(9));
        store_.let_go();
    });
    EXPECT_FALSE(written.get());
    EXPECT_EQ(writes(), 1U) << "the former session's second page is not written for the new one";
    control_.on([this] { store_.fault = {}; });
    EXPECT_TRUE(write());
    EXPECT_TRUE(stored(session_).empty());
    EXPECT_EQ(stored(SessionId{"s2"}), (std::map<ConnectionId, core::Cursor>{{id(1), cursor(9)}}));
}

}  // namespace
}  // namespace longhold::worker
