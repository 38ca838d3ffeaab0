// SPDX-License-Identifier: Apache-2.0
// One I/O loop on its own thread, with a mock upstream and a sink whose acks the test controls.
#pragma once

#include <gtest/gtest.h>
#include <longhold/mock/mock_upstream.h>
#include <simdjson.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io_loop.h"
#include "test_support.h"

namespace longhold::worker::test {

class IoLoopTest : public testing::Test {
protected:
    IoLoopTest() {
        renew_rights("s1");
        start_mock({.rate = 200});
    }

    ~IoLoopTest() override {
        sink_.discard();
        if (io_) {
            io_->stop();
            io_->join();
            EXPECT_EQ(io_->pending_records(), 0U);
            EXPECT_EQ(io_->pending_bytes(), 0U);
        }
        io_.reset();
        for (const auto* phase : {"dialing", "open", "backoff", "closing"}) {
            EXPECT_EQ(metrics_.gauge("longhold_connections", {{"phase", phase}}).value(), 0) << phase;
        }
        EXPECT_EQ(sockets_.size(), 0U);
    }

    void start_mock(mock::MockOptions options) {
        mock_ = std::make_unique<mock::MockUpstream>(std::move(options), clock_);
        const auto started = mock_->start();
        ASSERT_TRUE(started) << started.error();
    }

    void start(IoLoopOptions options = {}) {
        options.backoff.min = 20ms;
        options.backoff.floor = 5ms;
        if (options.backoff.max > 1s) {
            options.backoff.max = 200ms;
        }
        IoLoop::Reports reports{.closed = [this](core::Closed closed) {
            const std::lock_guard lock{mutex_};
            closed_.push_back(std::move(closed));
        }};
        io_ = std::make_unique<IoLoop>(std::move(options), clock_, sink_, sockets_, log_.log(), metrics_, resolver_,
                                       std::move(reports));
    }

    // A new session's right, until told otherwise.
    void renew_rights(const std::string& session) {
        rights_ = std::make_shared<SessionRights>(SessionId{session}, 1);
        rights_->extend_until(clock_.now() + 1h);
    }

    [[nodiscard]] core::ConnectionRow row(const std::string& id, const std::string& more, std::uint64_t epoch = 1,
                                          std::uint64_t revision = 1) const {
        return {.id = ConnectionId{id},
                .labels = {},
                .spec = feed_spec(mock_->port(), id, more),
                .spec_revision = revision,
                .owner = core::Owner::session(rights_->session),
                .epoch = Epoch{epoch}};
    }

    void open(core::ConnectionRow row) {
        const bool held_before = row.epoch > Epoch{1};
        io_->open(std::move(row), held_before, rights_);
    }

    void close(const std::string& id, std::uint64_t epoch = 1, core::CloseReason why = core::CloseReason::drain) {
        io_->close({.connection = ConnectionId{id}, .epoch = Epoch{epoch}, .reason = why});
    }

    [[nodiscard]] std::vector<core::Closed> closed() const {
        const std::lock_guard lock{mutex_};
        return closed_;
    }

    [[nodiscard]] bool eventually_closed(std::size_t count = 1) const {
        return eventually([&] { return closed().size() >= count; });
    }

    [[nodiscard]] bool eventually_data(const std::string& id, std::size_t count) const {
        return eventually([&] { return sink_.count(id, sink::RecordKind::data) >= count; });
    }

    // Runs everything that was posted to the loop before.
    void settle() const {
        std::promise<void> done;
        io_->loop().post([&] { done.set_value(); });
        done.get_future().get();
    }

    [[nodiscard]] std::vector<MovedCursor> gather() const {
        std::promise<std::vector<MovedCursor>> moved;
        io_->gather([&](std::vector<MovedCursor> all) { moved.set_value(std::move(all)); });
        return moved.get_future().get();
    }

    // A number of the oracle on an id; -1 where there is none.
    [[nodiscard]] std::int64_t oracle(const std::string& id, const std::string& pointer) const {
        const simdjson::padded_string text{mock_->control("GET", "/oracle/" + id).body};
        simdjson::dom::parser parser;
        std::int64_t value = -1;
        return parser.parse(text).at_pointer(pointer).get(value) == simdjson::SUCCESS ? value : -1;
    }

    // How many sockets of the id were ever open.
    [[nodiscard]] std::size_t sockets_of(const std::string& id) const {
        const simdjson::padded_string text{mock_->control("GET", "/oracle/" + id).body};
        simdjson::dom::parser parser;
        simdjson::dom::array sockets;
        return parser.parse(text).at_pointer("/sockets").get(sockets) == simdjson::SUCCESS ? sockets.size() : 0;
    }

    [[nodiscard]] bool eventually_live(const std::string& id, std::int64_t count) const {
        return eventually([&] { return oracle(id, "/live") == count; });
    }

    void fault(const std::string& id, const std::string& words) {
        ASSERT_EQ(mock_->control("POST", "/faults/" + id + '?' + words).status, 200);
    }

    void mend(const std::string& id) const { static_cast<void>(mock_->control("DELETE", "/faults/" + id)); }

    [[nodiscard]] double connections(const std::string& phase) {
        return metrics_.gauge("longhold_connections", {{"phase", phase}}).value();
    }

    // Whether the numbers rise by one.
    static void expect_contiguous(const std::vector<std::uint64_t>& numbers) {
        for (std::size_t i = 1; i < numbers.size(); ++i) {
            ASSERT_EQ(numbers[i], numbers[i - 1] + 1) << "at " << i;
        }
    }

    runtime::SystemClock clock_;
    QuietLog log_{clock_};
    telemetry::Metrics metrics_;
    runtime::AbortTable sockets_{256};
    FakeSink sink_{clock_};
    std::unique_ptr<mock::MockUpstream> mock_;
    SpecResolver resolver_ = spec_resolver();
    std::shared_ptr<SessionRights> rights_;
    mutable std::mutex mutex_;
    std::vector<core::Closed> closed_;
    std::unique_ptr<IoLoop> io_;
};

}  // namespace longhold::worker::test
