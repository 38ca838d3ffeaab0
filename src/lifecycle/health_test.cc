// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/lifecycle/background.h>
#include <longhold/lifecycle/health.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "loop_runner.h"

namespace longhold::lifecycle {
namespace {

using namespace std::chrono_literals;
using runtime::Loop;
using runtime::Task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Dependency store{.name = "store", .metric = "longhold_store_requests_total", .alert = "StoreDown"};
const Dependency traces{.name = "traces",
                        .hard = false,
                        .on_failure = OnFailure::open,
                        .metric = "longhold_degraded",
                        .alert = "TracesDown"};

class HealthTest : public testing::Test {
protected:
    HealthTest() {
        EXPECT_TRUE(health.add_dependency(store).has_value());
        EXPECT_TRUE(health.add_dependency(traces).has_value());
    }

    Random random{7};
    Health health{HealthSettings{.version = "0.1.0", .roles = {"worker"}, .worker = "w1"}, HealthSources{}, random};
    const Instant start{1000s};
};

TEST_F(HealthTest, IsReadyOnlyBetweenStartAndDrain) {
    EXPECT_THAT(health.readyz(start).reasons, ElementsAre("the process is starting"));
    EXPECT_FALSE(health.startupz().good);
    health.enter(ProcessState::ready);
    EXPECT_TRUE(health.readyz(start).good);
    EXPECT_TRUE(health.startupz().good);
    health.enter(ProcessState::draining);
    EXPECT_THAT(health.readyz(start).reasons, ElementsAre("the process is draining"));
    EXPECT_TRUE(health.startupz().good) << "what has started has started";
    health.enter(ProcessState::ready);
    EXPECT_EQ(health.state(), ProcessState::draining) << "never back";
    EXPECT_TRUE(health.livez(start).good) << "nobody kills a process for draining";
}

TEST(HealthDegraded, ShowsWhatASourceTellsBesideWhatWasSet) {
    Random random{1};
    std::map<std::string, std::string> told{{"checkpoint", "the store takes no writes"}};
    Health health{HealthSettings{}, HealthSources{.degraded = [&told] { return told; }}, random};
    health.set_degraded("sink_stuck", "disk full");
    const Instant now{1000s};
    EXPECT_THAT(health.document(now), HasSubstr("\"checkpoint\": \"the store takes no writes\""));
    EXPECT_THAT(health.document(now), HasSubstr("\"sink_stuck\": \"disk full\""));
    told.clear();
    EXPECT_THAT(health.document(now), Not(HasSubstr("\"checkpoint\"")));
}

TEST(HealthStates, AProcessStoppedWhileItStartsHasNeverStarted) {
    Random random{1};
    Health health{{}, {}, random};
    health.enter(ProcessState::draining);
    EXPECT_FALSE(health.startupz().good);
}

TEST_F(HealthTest, AHardDependencyTurnsReadyzOnlyAfterItsTime) {
    health.enter(ProcessState::ready);
    EXPECT_GE(health.fail_after(), 10s);
    EXPECT_LE(health.fail_after(), 15s);
    health.checked("store", std::unexpected("connection refused"), start);
    health.checked("store", std::unexpected("still refused"), start + 5s);
    EXPECT_TRUE(health.readyz(start + health.fail_after() - 1ms).good);
    const Verdict verdict = health.readyz(start + health.fail_after());
    EXPECT_FALSE(verdict.good);
    EXPECT_THAT(verdict.reasons.front(), HasSubstr("store has been down for 1"));
    EXPECT_THAT(verdict.reasons.front(), HasSubstr("still refused"));
    EXPECT_TRUE(health.livez(start + 1h).good) << "livez looks at nothing outside the process";
    health.checked("store", {}, start + 20s);
    EXPECT_TRUE(health.readyz(start + 20s).good);
    health.checked("store", std::unexpected("again"), start + 21s);
    EXPECT_TRUE(health.readyz(start + 22s).good) << "a new outage counts anew";
}

TEST_F(HealthTest, ASoftDependencyNeverTurnsReadyz) {
    health.enter(ProcessState::ready);
    health.checked("traces", std::unexpected("gone"), start);
    EXPECT_TRUE(health.readyz(start + 1h).good);
}

TEST(HealthJitter, SpreadsReplicas) {
    Random random{1};
    std::vector<Duration> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(Health{{}, {}, random}.fail_after());
    }
    EXPECT_GT(*std::ranges::max_element(all) - *std::ranges::min_element(all), 2s);
}

TEST_F(HealthTest, RefusesADependencyThatDoesNotDeclareEverything) {
    const auto error_of = [this](Dependency dependency) {
        return health.add_dependency(std::move(dependency)).error();
    };
    EXPECT_EQ(error_of({.name = "sink", .metric = "", .alert = "a"}),
              "dependency \"sink\" declares no metric that shows it");
    EXPECT_EQ(error_of({.name = "sink", .metric = "m", .alert = ""}),
              "dependency \"sink\" declares no alert that watches its metric");
    EXPECT_EQ(error_of(store), "dependency \"store\" is declared twice");
    EXPECT_EQ(error_of({.name = "", .metric = "m", .alert = "a"}), "dependency \"\" has no name");
}

TEST_F(HealthTest, ALoopThatDoesNotTickIsDead) {
    const runtime::SystemClock clock;
    const Loop loop{clock};
    health.watch_loop("io-1", loop);
    EXPECT_TRUE(health.livez(loop.ticked_at() + 10s).good);
    EXPECT_THAT(health.livez(loop.ticked_at() + 11s).reasons, ElementsAre("loop io-1 has not ticked for 11s"));
}

TEST_F(HealthTest, TheDocumentTellsEverythingThatIsKnown) {
    Health full{HealthSettings{.version = "0.1.0", .roles = {"worker", "api"}, .worker = "w1"},
                HealthSources{.pending = [] { return Pending{3, 400, 1500ms}; },
                              .events = [] { return EventCounts{5, 1}; },
                              .dead_letters = [] { return std::uint64_t{2}; },
                              .session = [] { return std::string{"s1"}; },
                              .connections = [] { return std::uint64_t{60}; }},
                random};
    ASSERT_TRUE(full.add_dependency(store).has_value());
    full.set_degraded("spill", "disk full\xff");
    full.enter(ProcessState::ready);
    full.checked("store", std::unexpected("refused"), start);
    EXPECT_EQ(full.document(start + 2s), R"({
  "state": "ready",
  "version": "0.1.0",
  "roles": [
    "worker",
    "api"
  ],
  "worker": "w1",
  "session": "s1",
  "live": true,
  "ready": true,
  "connections": 60,
  "pending": {
    "records": 3,
    "bytes": 400,
    "oldest_seconds": 1.5
  },
  "events": {
    "waiting": 5,
    "failed": 1
  },
  "dead_letters": 2,
  "degraded": {
    "spill": "disk full)"
                                         "\xef\xbf\xbd"
                                         R"("
  },
  "dependencies": {
    "store": {
      "up": false,
      "hard": true,
      "on_failure": "closed",
      "down_seconds": 2,
      "reason": "refused"
    }
  }
}
)");
    full.clear_degraded("spill");
    EXPECT_THAT(full.document(start), Not(HasSubstr("disk full")));
}

TEST_F(HealthTest, TheDocumentLeavesOutWhatNobodyCounts) {
    const std::string document = health.document(start);
    EXPECT_THAT(document, Not(HasSubstr("events")));
    EXPECT_THAT(document, Not(HasSubstr("dead_letters")));
    EXPECT_THAT(document, Not(HasSubstr("session")));
    EXPECT_THAT(document, HasSubstr("\"records\": 0"));
    EXPECT_THAT(document, HasSubstr("\"up\": null")) << "not checked yet";
}

Task<DependencyResult> scripted(Loop& loop, int& calls) {
    const int call = ++calls;
    if (call == 2) {
        co_await runtime::sleep_until(loop, loop.clock().now() + 1h);
    }
    co_return call == 1 ? DependencyResult{std::unexpected("refused")} : DependencyResult{};
}

Task<> see_a_check_fail_hang_and_recover(Loop& loop, Health& health, telemetry::Log& log, std::vector<bool>& up) {
    int calls = 0;
    runtime::TaskGroup group{loop};
    group.spawn(
        check_dependency(loop, health, log, "store", [&](Instant) { return scripted(loop, calls); }, 1ms, 20ms));
    const Instant patience = loop.clock().now() + 10s;
    std::string before;
    while (up.size() < 3 && loop.clock().now() < patience) {
        const std::string document = health.document(loop.clock().now());
        for (const std::string_view sign : {"refused", "no answer within 20ms", "\"up\": true"}) {
            if (document.contains(sign) && before != sign) {
                before = sign;
                up.push_back(document.contains("\"up\": true"));
            }
        }
        co_await runtime::yield(loop);
    }
    group.stop();
    co_await group.join();
}

TEST_F(HealthTest, BackgroundChecksReportFailureSilenceAndRecovery) {
    LoopRunner runner;
    const auto log = telemetry::Log::silent();
    std::vector<bool> up;
    runner.run(see_a_check_fail_hang_and_recover(runner.loop, health, *log, up));
    EXPECT_THAT(up, ElementsAre(false, false, true));
}

// A service manager's socket.
struct Manager {
    Manager() {
        address.sun_family = AF_UNIX;
        const std::string path = "@longhold-health-test-" + std::to_string(::getpid());
        std::memcpy(address.sun_path, path.data(), path.size());
        address.sun_path[0] = '\0';
        name = path;
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
        EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), size), 0);
    }

    ~Manager() { ::close(socket); }

    [[nodiscard]] bool was_told() const {
        std::array<char, 64> text{};
        return ::recv(socket, text.data(), text.size(), MSG_DONTWAIT) > 0;
    }

    int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    std::string name;
};

Task<> feed_twice(Loop& loop, Health& health, telemetry::Log& log, const Manager& manager, const Loop& dead) {
    const runtime::ServiceNotifier notifier{manager.name};
    runtime::TaskGroup group{loop};
    group.spawn(feed_service_watchdog(loop, health, notifier, log, 1ms));
    const Instant patience = loop.clock().now() + 10s;
    bool told = false;
    while (!told && loop.clock().now() < patience) {
        co_await runtime::yield(loop);
        told = manager.was_told();
    }
    EXPECT_TRUE(told);
    health.watch_loop("dead", dead);
    while (manager.was_told()) {
    }
    co_await runtime::sleep_until(loop, loop.clock().now() + 20ms);  // twenty chances to tell a lie
    EXPECT_FALSE(manager.was_told());
    group.stop();
    co_await group.join();
}

TEST(ServiceWatchdog, IsFedOnlyWhileEveryLoopTicks) {
    LoopRunner runner;
    Random random{1};
    Health health{HealthSettings{.tick_within = 0ns}, {}, random};
    const Loop dead{runner.clock};
    const Manager manager;
    const auto log = telemetry::Log::silent();
    runner.run(feed_twice(runner.loop, health, *log, manager, dead));
}

}  // namespace
}  // namespace longhold::lifecycle
