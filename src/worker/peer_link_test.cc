// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/http_client.h>
#include <longhold/worker/peer_link.h>

#include <boost/asio/co_spawn.hpp>
#include <memory>
#include <string>
#include <vector>

#include "hint_wire.h"

namespace longhold::worker {
namespace {

using namespace std::chrono_literals;

const core::Hint released{
    .kind = core::HintKind::released, .session = SessionId{"s-1"}, .connections = {ConnectionId{"a"}}};

// Two links on one loop: one tells, the other takes.
class PeerLinkTest : public testing::Test {
public:
    std::unique_ptr<PeerLink> link(std::vector<std::string> keys, const std::string& session,
                                   telemetry::Metrics& metrics) {
        auto made = std::make_unique<PeerLink>(loop_, std::move(keys), metrics);
        EXPECT_TRUE(made->listen("127.0.0.1:0"));
        made->begin([session] { return SessionId{session}; },
                    [this](core::Hint hint) { taken_.push_back(std::move(hint)); });
        return made;
    }

    // Runs the loop until `task` has ended.
    void run(runtime::Task<> task) {
        boost::asio::co_spawn(loop_.context(), std::move(task), [this](const std::exception_ptr& failure) {
            EXPECT_FALSE(failure);
            loop_.finish();
        });
        loop_.run();
    }

    runtime::Task<> until_counted(telemetry::Metrics& metrics, const std::string& result, double count) {
        const Instant deadline = loop_.clock().now() + 10s;
        auto& counter =
            metrics.counter("longhold_hints_total", {{"direction", "sent"}, {"kind", "released"}, {"result", result}});
        while (static_cast<double>(counter.value()) < count && loop_.clock().now() < deadline) {
            co_await runtime::yield(loop_);
        }
        EXPECT_EQ(static_cast<double>(counter.value()), count) << result;
    }

    runtime::SystemClock clock_;
    runtime::Loop loop_{clock_};
    telemetry::Metrics sent_;
    telemetry::Metrics received_;
    std::vector<core::Hint> taken_;
};

TEST_F(PeerLinkTest, CarriesAHintToTheSessionThatItIsFor) {
    const auto from = link({"a key that both of them have"}, "s-1", sent_);
    const auto to = link({"the one before", "a key that both of them have"}, "s-2", received_);
    run([](PeerLinkTest& test, PeerLink& one, PeerLink& other) -> runtime::Task<> {
        one.tell(SessionId{"s-1"}, {.peer = SessionId{"s-2"}, .address = other.address(""), .hint = released});
        co_await test.until_counted(test.sent_, "taken", 1);
        co_await runtime::yield(test.loop_);
        co_await one.close(test.loop_.clock().now() + 5s);
        co_await other.close(test.loop_.clock().now() + 5s);
    }(*this, *from, *to));
    EXPECT_EQ(taken_, std::vector{released});
}

TEST_F(PeerLinkTest, RefusesWhatIsForAnotherSessionOrSignedWithAnotherKey) {
    const auto from = link({"a key that both of them have"}, "s-1", sent_);
    const auto stranger = link({"a key of somebody else"}, "s-9", sent_);
    const auto to = link({"a key that both of them have"}, "s-2", received_);
    run([](PeerLinkTest& test, PeerLink& one, PeerLink& other, PeerLink& target) -> runtime::Task<> {
        one.tell(SessionId{"s-1"}, {.peer = SessionId{"s-old"}, .address = target.address(""), .hint = released});
        other.tell(SessionId{"s-9"}, {.peer = SessionId{"s-2"}, .address = target.address(""), .hint = released});
        co_await test.until_counted(test.sent_, "refused", 2);
        for (PeerLink* each : {&one, &other, &target}) {
            co_await each->close(test.loop_.clock().now() + 5s);
        }
    }(*this, *from, *stranger, *to));
    EXPECT_TRUE(taken_.empty());
}

TEST_F(PeerLinkTest, CountsWhatNobodyTakes) {
    const auto from = link({"a key that both of them have"}, "s-1", sent_);
    run([](PeerLinkTest& test, PeerLink& one) -> runtime::Task<> {
        one.tell(SessionId{"s-1"}, {.peer = SessionId{"s-2"}, .address = "127.0.0.1:1", .hint = released});
        co_await test.until_counted(test.sent_, "failed", 1);
        co_await one.close(test.loop_.clock().now() + 5s);
    }(*this, *from));
}

TEST_F(PeerLinkTest, AnswersGarbageWithAClearRefusal) {
    const std::string key = "a key that both of them have";
    const auto to = link({key}, "s-2", received_);
    run([](PeerLinkTest& test, PeerLink& target, std::string with) -> runtime::Task<> {
        const auto post = [&](std::string body, const std::string& signature) {
            return runtime::http_request(test.loop_,
                                         {.method = "POST",
                                          .url = "http://" + target.address("") + "/peer/v1/hints",
                                          .fields = {{std::string{signature_field}, signature}},
                                          .body = std::move(body)},
                                         test.loop_.clock().now() + 5s);
        };
        const std::string garbage = "kind released";
        const auto bad = co_await post(garbage, signature_of(garbage, with));
        EXPECT_EQ(bad ? bad->status : 0, 400);
        const auto unsigned_one = co_await post(garbage, "");
        EXPECT_EQ(unsigned_one ? unsigned_one->status : 0, 401);
        co_await target.close(test.loop_.clock().now() + 5s);
    }(*this, *to, key));
    EXPECT_TRUE(taken_.empty());
}

TEST_F(PeerLinkTest, WithoutAKeyHasNoListenerAndTellsNothing) {
    const auto one = link({}, "s-1", sent_);
    EXPECT_EQ(one->address("10.0.0.7:8472"), "");
    run([](PeerLinkTest& test, PeerLink& silent) -> runtime::Task<> {
        silent.tell(SessionId{"s-1"}, {.peer = SessionId{"s-2"}, .address = "127.0.0.1:1", .hint = released});
        co_await silent.close(test.loop_.clock().now() + 5s);
    }(*this, *one));
    EXPECT_EQ(sent_.expose().find("longhold_hints_total"), std::string::npos);
}

}  // namespace
}  // namespace longhold::worker
