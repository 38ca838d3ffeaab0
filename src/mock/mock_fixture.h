// SPDX-License-Identifier: Apache-2.0
// A running mock upstream and questions to its oracle, for the tests.
#pragma once

#include <gtest/gtest.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/clock.h>
#include <simdjson.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "test_client.h"

namespace longhold::mock {

class MockUpstreamTest : public testing::Test {
protected:
    void start(MockOptions options) {
        mock_ = std::make_unique<MockUpstream>(std::move(options), clock_);
        const auto started = mock_->start();
        ASSERT_TRUE(started) << started.error();
    }

    [[nodiscard]] std::uint16_t port() const { return mock_->port(); }

    // A number in the oracle's document on an id, by JSON pointer; -1 when it is null or not there.
    std::int64_t oracle(const std::string& id, const std::string& pointer) {
        const simdjson::padded_string text{mock_->control("GET", "/oracle/" + id).body};
        simdjson::dom::parser parser;
        std::int64_t value = -1;
        return parser.parse(text).at_pointer(pointer).get(value) == simdjson::SUCCESS ? value : -1;
    }

    // A number in the whole document.
    std::int64_t server(const std::string& pointer) {
        const simdjson::padded_string text{mock_->control("GET", "/oracle").body};
        simdjson::dom::parser parser;
        std::int64_t value = -1;
        return parser.parse(text).at_pointer(pointer).get(value) == simdjson::SUCCESS ? value : -1;
    }

    std::string oracle_text(const std::string& id, const std::string& pointer) {
        const simdjson::padded_string text{mock_->control("GET", "/oracle/" + id).body};
        simdjson::dom::parser parser;
        std::string_view value;
        return parser.parse(text).at_pointer(pointer).get(value) == simdjson::SUCCESS ? std::string{value} : "";
    }

    // Waits until the oracle says so, within a deadline.
    bool eventually(const std::string& id, const std::string& pointer, const std::string& wanted) {
        const Instant deadline = clock_.now() + std::chrono::seconds{10};
        while (oracle_text(id, pointer) != wanted) {
            if (clock_.now() > deadline) {
                return false;
            }
            ::usleep(1000);
        }
        return true;
    }

    // Waits for the sequence of an id to pass `seq`.
    void wait_for_head(const std::string& id, std::int64_t seq) {
        const Instant deadline = clock_.now() + std::chrono::seconds{10};
        while (oracle(id, "/streams/0/head") < seq && clock_.now() < deadline) {
            ::usleep(1000);
        }
    }

    int set_fault(const std::string& id, const std::string& words) {
        return mock_->control("POST", "/faults/" + id + '?' + words).status;
    }

    runtime::SystemClock clock_;
    std::unique_ptr<MockUpstream> mock_;
};

}  // namespace longhold::mock
