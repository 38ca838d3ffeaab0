// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/core/backoff.h>

#include <string>
#include <vector>

namespace longhold::core {
namespace {

using namespace std::chrono_literals;

constexpr double highest = 0x1.fffffffffffffp-1;
const ConnectionEnd lost{.kind = EndKind::lost};
const ConnectionLife none{};
const ConnectionLife useful{.ready = true, .delivered_data = true, .ready_for = 1s};

struct JudgeCase {
    std::string_view name;
    ConnectionEnd end;
    EndVerdict want;
};

void PrintTo(const JudgeCase& test, std::ostream* out) {
    *out << test.name;
}

ConnectionEnd closed(std::uint16_t code) {
    return {.kind = EndKind::closed, .close_code = code};
}

ConnectionEnd status(std::uint16_t code) {
    return {.kind = EndKind::http_status, .http_status = code};
}

constexpr EndVerdict retry{};
constexpr EndVerdict retry_alarm{.alarm = true};
constexpr EndVerdict slow{.retry = RetryClass::retry_slow, .alarm = true};
constexpr EndVerdict slow_credential{.retry = RetryClass::retry_slow, .alarm = true, .refresh_credential = true};

class Judge : public testing::TestWithParam<JudgeCase> {};

TEST_P(Judge, Holds) {
    EXPECT_EQ(judge(GetParam().end), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Judge,
    testing::Values(JudgeCase{"not_wanted", {.kind = EndKind::not_wanted}, {.retry = RetryClass::stop}},
                    JudgeCase{"unreachable", {.kind = EndKind::unreachable}, retry},
                    JudgeCase{"tls_failed", {.kind = EndKind::tls_failed}, retry},
                    JudgeCase{"certificate", {.kind = EndKind::certificate}, slow},
                    JudgeCase{"bad_handshake", {.kind = EndKind::bad_handshake}, slow}, JudgeCase{"lost", lost, retry},
                    JudgeCase{"silent", {.kind = EndKind::silent}, retry},
                    JudgeCase{"protocol_breach", {.kind = EndKind::protocol_breach}, slow},
                    JudgeCase{"message_too_big", {.kind = EndKind::message_too_big}, retry_alarm},
                    JudgeCase{"open_failed", {.kind = EndKind::open_failed}, retry},
                    JudgeCase{"rotated", {.kind = EndKind::rotated}, retry},
                    JudgeCase{"close_without_code", closed(0), retry}, JudgeCase{"close_1000", closed(1000), retry},
                    JudgeCase{"close_1001", closed(1001), retry}, JudgeCase{"close_1002", closed(1002), slow},
                    JudgeCase{"close_1003", closed(1003), slow}, JudgeCase{"close_1004", closed(1004), slow},
                    JudgeCase{"close_1005", closed(1005), retry}, JudgeCase{"close_1006", closed(1006), retry},
                    JudgeCase{"close_1007", closed(1007), slow}, JudgeCase{"close_1008", closed(1008), slow},
                    JudgeCase{"close_1009", closed(1009), retry_alarm}, JudgeCase{"close_1010", closed(1010), slow},
                    JudgeCase{"close_1011", closed(1011), retry}, JudgeCase{"close_1012", closed(1012), retry},
                    JudgeCase{"close_1013", closed(1013), {.wait_min = 5s}},
                    JudgeCase{"close_1014", closed(1014), retry}, JudgeCase{"close_1015", closed(1015), retry},
                    JudgeCase{"close_2999", closed(2999), slow}, JudgeCase{"close_3000", closed(3000), retry},
                    JudgeCase{"close_4004", closed(4004), retry}),
    [](const auto& test) { return std::string{test.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Upgrade, Judge,
    testing::Values(JudgeCase{"login_page", status(200), slow}, JudgeCase{"redirect", status(302), slow},
                    JudgeCase{"bad_request", status(400), slow},
                    JudgeCase{"unauthorized", status(401), slow_credential},
                    JudgeCase{"forbidden", status(403), slow_credential}, JudgeCase{"not_found", status(404), slow},
                    JudgeCase{"proxy_credential", status(407), slow}, JudgeCase{"timeout", status(408), retry},
                    JudgeCase{"too_early", status(425), retry}, JudgeCase{"upgrade_required", status(426), slow},
                    JudgeCase{"too_many", status(429), retry}, JudgeCase{"server_error", status(500), retry},
                    JudgeCase{"not_implemented", status(501), slow}, JudgeCase{"bad_gateway", status(502), retry},
                    JudgeCase{"unavailable", status(503), retry}, JudgeCase{"gateway_timeout", status(504), retry},
                    JudgeCase{"no_origin", status(522), retry}, JudgeCase{"login_to_the_network", status(511), slow}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(Backoff, SpreadsFromTheFloorOverARangeThatDoublesUpToTheMax) {
    const std::vector<Duration> ends{500ms, 1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
    Backoff low{BackoffPolicy{}};
    Backoff high{BackoffPolicy{}};
    for (const auto end : ends) {
        EXPECT_EQ(low.ended(lost, none, 0), 50ms);
        EXPECT_NEAR(static_cast<double>(high.ended(lost, none, highest)->count()), static_cast<double>(end.count()),
                    99);
    }
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_LE(high.ended(lost, none, highest), 60s);
    }
    EXPECT_EQ(high.attempts(), 10'009U);
}

TEST(Backoff, SpreadsEvenlySoThatAFleetDoesNotComeBackTogether) {
    Random random{1};
    std::vector<int> counts(10);
    for (int i = 0; i < 10'000; ++i) {
        const auto wait = Backoff{BackoffPolicy{}}.ended(lost, none, random.unit());
        ++counts.at(static_cast<std::size_t>((*wait - 50ms) / 45ms));
    }
    for (const auto count : counts) {
        EXPECT_NEAR(count, 1000, 150);
    }
}

TEST(Backoff, SlowsDownForWhatAPersonMustMend) {
    Backoff backoff{BackoffPolicy{}};
    EXPECT_GT(backoff.ended(closed(1002), none, highest), 29s);
    EXPECT_GT(backoff.ended(closed(1002), none, highest), 59s);
    for (int i = 0; i < 10; ++i) {
        EXPECT_LE(backoff.ended(closed(1002), none, highest), 10min);
    }
}

struct LifeCase {
    std::string_view name;
    ConnectionLife life;
    Duration wait_last;
    bool starts_anew;
};

void PrintTo(const LifeCase& test, std::ostream* out) {
    *out << test.name;
}

class BackoffLife : public testing::TestWithParam<LifeCase> {};

TEST_P(BackoffLife, StartsAnewOnlyAfterAUsefulConnection) {
    Backoff backoff{BackoffPolicy{}};
    for (int i = 0; i < 7; ++i) {
        (void)backoff.ended(lost, none, highest);
    }
    (void)backoff.ended(lost, none, (GetParam().wait_last - 50ms) / std::chrono::duration<double>(59'950ms));
    (void)backoff.ended(lost, GetParam().life, 0.5);
    EXPECT_EQ(backoff.attempts(), GetParam().starts_anew ? 1U : 9U);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BackoffLife,
    testing::Values(LifeCase{"never_stood", {}, 1s, false},
                    LifeCase{"ready_and_data", {.ready = true, .delivered_data = true}, 50s, true},
                    LifeCase{"ready_without_data", {.ready = true, .ready_for = 9s}, 1s, false},
                    LifeCase{"ready_long_enough", {.ready = true, .ready_for = 10s}, 1s, true},
                    LifeCase{"shorter_than_the_last_wait", {.ready = true, .ready_for = 29s}, 30s, false},
                    LifeCase{"longer_than_the_last_wait", {.ready = true, .ready_for = 31s}, 30s, true},
                    LifeCase{"data_before_ready", {.delivered_data = true, .ready_for = 60s}, 1s, false}),
    [](const auto& test) { return std::string{test.param.name}; });

struct RetryAfterCase {
    std::string_view name;
    ConnectionEnd end;
    Duration low;
    Duration high;
};

void PrintTo(const RetryAfterCase& test, std::ostream* out) {
    *out << test.name;
}

ConnectionEnd retry_after(Duration wait, std::uint16_t code = 429) {
    return {.kind = EndKind::http_status, .http_status = code, .retry_after = wait};
}

class BackoffRetryAfter : public testing::TestWithParam<RetryAfterCase> {};

TEST_P(BackoffRetryAfter, IsAFloorWithJitterAbove) {
    const auto low = Backoff{BackoffPolicy{}}.ended(GetParam().end, useful, 0);
    const auto high = Backoff{BackoffPolicy{}}.ended(GetParam().end, useful, highest);
    EXPECT_EQ(low, GetParam().low);
    EXPECT_NEAR(static_cast<double>(high->count()), static_cast<double>(GetParam().high.count()), 999);
}

INSTANTIATE_TEST_SUITE_P(Table, BackoffRetryAfter,
                         testing::Values(RetryAfterCase{"a_minute", retry_after(60s), 60s, 66s},
                                         RetryAfterCase{"a_second", retry_after(1s), 1s, 1500ms},
                                         RetryAfterCase{"below_the_range", retry_after(100ms), 100ms, 600ms},
                                         RetryAfterCase{"zero", retry_after(0s), 50ms, 500ms},
                                         RetryAfterCase{"in_the_past", retry_after(-5s), 50ms, 500ms},
                                         RetryAfterCase{"a_year", retry_after(8760h), 10min, 11min},
                                         RetryAfterCase{"within_the_slow_range", retry_after(1s, 404), 1s, 30s},
                                         RetryAfterCase{"try_later", closed(1013), 5s, 5500ms}),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST(Backoff, StopsWhenTheConnectionIsNotWanted) {
    EXPECT_EQ((Backoff{BackoffPolicy{}}.ended({.kind = EndKind::not_wanted}, useful, 0.5)), std::nullopt);
}

TEST(BackoffPolicy, SaysWhatIsWrongWithIt) {
    EXPECT_EQ(fault_of({}), std::nullopt);
    EXPECT_EQ(fault_of({.min = 2min}), "backoff: min and max must rise, but 2m is above 1m");
    EXPECT_EQ(fault_of({.floor = 1s}), "backoff: floor and min must rise, but 1s is above 500ms");
    EXPECT_EQ(fault_of({.slow_min = 1h}), "backoff: slow_min and slow_max must rise, but 1h is above 10m");
    EXPECT_NE(fault_of({.min = 0s}), std::nullopt);
    EXPECT_NE(fault_of({.floor = -1s}), std::nullopt);
}

}  // namespace
}  // namespace longhold::core
