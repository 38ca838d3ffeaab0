// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/telemetry/metrics.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <vector>

#include "metrics_table.h"

namespace longhold::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(MetricsTable, FollowsPrometheusRulesForNames) {
    std::string_view before;
    for (const MetricSpec& spec : metrics_table()) {
        EXPECT_LT(before, spec.name) << "sorted, each once";
        before = spec.name;
        EXPECT_TRUE(std::regex_match(std::string{spec.name}, std::regex{"longhold_[a-z_]+"})) << spec.name;
        EXPECT_EQ(spec.name.ends_with("_total"), spec.kind == MetricKind::counter) << spec.name;
        EXPECT_EQ(spec.kind != MetricKind::histogram || spec.name.ends_with("_seconds"), true) << spec.name;
        for (const std::string_view suffix : {"_count", "_sum", "_bucket", "_ms", "_milliseconds"}) {
            EXPECT_FALSE(spec.name.ends_with(suffix)) << spec.name;
        }
        EXPECT_TRUE(spec.help.ends_with('.')) << spec.name;
        EXPECT_TRUE(std::ranges::none_of(spec.labels, [](auto label) {
            return label == "le" || label.contains("connection");
        })) << spec.name;
        EXPECT_TRUE(spec.values.empty() || spec.labels.size() == 1) << spec.name;
    }
}

TEST(Metrics, ShowsKnownSeriesFromTheStart) {
    const std::string text = Metrics{}.expose();
    EXPECT_THAT(text, HasSubstr("# HELP longhold_messages_total Messages received from upstreams.\n"
                                "# TYPE longhold_messages_total counter\nlonghold_messages_total 0\n"));
    EXPECT_THAT(text, HasSubstr("longhold_connections{phase=\"backoff\"} 0\n"));
    EXPECT_THAT(text, Not(HasSubstr("longhold_dials_total"))) << "its results are not known yet";
}

TEST(Metrics, CountsAndEscapes) {
    Metrics metrics;
    Counter& counter = metrics.counter("longhold_dials_total", {{"result", "a\\b\"c\nd"}});
    counter.add(3);
    metrics.counter("longhold_dials_total", {{"result", "a\\b\"c\nd"}}).add();
    metrics.gauge("longhold_held").set(2.5);
    metrics.gauge("longhold_pending_bytes").set(std::nan(""));
    metrics.counter("longhold_store_requests_total", {{"verb", "claim"}, {"outcome", "done"}}).add();
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("longhold_dials_total{result=\"a\\\\b\\\"c\\nd\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("longhold_held 2.5\n"));
    EXPECT_THAT(text, HasSubstr("longhold_pending_bytes NaN\n"));
    EXPECT_THAT(text, HasSubstr("longhold_store_requests_total{outcome=\"done\",verb=\"claim\"} 1\n"));
}

TEST(Metrics, EveryLineIsValidText) {
    Metrics metrics;
    metrics.histogram("longhold_store_request_seconds", {{"verb", "join"}}).observe(3ms);
    metrics.gauge("longhold_build_info", {{"version", "0.1.0"}}).set(1);
    const std::string text = metrics.expose();
    const std::regex sample{
        R"re([a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? ([0-9.e+-]+|NaN|[+-]Inf))re"};
    const std::regex comment{R"(# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram)))"};
    ASSERT_TRUE(text.ends_with('\n'));
    std::set<std::string> seen;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        EXPECT_TRUE(std::regex_match(line, line.starts_with('#') ? comment : sample)) << line;
        EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
        at = end + 1;
    }
}

TEST(Metrics, BoundsTheNumberOfLabelValues) {
    Metrics metrics;
    for (int i = 0; i < 1000; ++i) {
        metrics.counter("longhold_gaps_total", {{"reason", std::to_string(i)}}).add();
    }
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("longhold_gaps_total{reason=\"other\"} 800\n"));
    EXPECT_THAT(text, Not(HasSubstr("reason=\"999\"")));
}

TEST(MetricsDeathTest, AskingForWhatIsNotInTheTableStopsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Metrics metrics;
    EXPECT_DEATH(metrics.counter("longhold_nonsense_total"), "name in the table");
    EXPECT_DEATH(metrics.gauge("longhold_messages_total"), "kind in the table");
    EXPECT_DEATH(metrics.counter("longhold_messages_total", {{"a", "b"}}), "labels in the table");
    EXPECT_DEATH(metrics.counter("longhold_dials_total", {{"reason", "b"}}), "labels in the table");
}

TEST(Histogram, PutsEachDurationUnderTheFirstBoundNotBelowIt) {
    const std::vector<Duration> durations{0ns, 1ns, 1000ns, 1250ns,        1251ns, 1500us,
                                          2us, 1ms, 1s,     999'999'999ns, 6s,     70min};
    for (const Duration duration : durations) {
        Histogram histogram;
        histogram.observe(duration);
        std::size_t bucket = 0;
        while (histogram.count(bucket) == 0) {
            ++bucket;
        }
        const double seconds = static_cast<double>(duration.count()) * 1e-9;
        EXPECT_LE(seconds, Histogram::upper_bound(bucket) * (1 + 1e-12)) << duration.count();
        if (bucket > 0) {
            const double lower = Histogram::upper_bound(bucket - 1);
            EXPECT_GT(seconds, lower * (1 - 1e-12)) << duration.count();
            const double middle = (lower + Histogram::upper_bound(bucket)) / 2;
            EXPECT_LE(std::abs(middle - seconds) / seconds, 1.0 / 8 + 1e-9) << duration.count();
        }
    }
}

TEST(Histogram, BoundsGrowAndCoverAnHour) {
    for (std::size_t bucket = 1; bucket < Histogram::bucket_count; ++bucket) {
        EXPECT_GT(Histogram::upper_bound(bucket), Histogram::upper_bound(bucket - 1));
        EXPECT_LE(Histogram::upper_bound(bucket) / Histogram::upper_bound(bucket - 1), 1.25 + 1e-12);
    }
    EXPECT_DOUBLE_EQ(Histogram::upper_bound(0), 1.25e-6);
    EXPECT_GT(Histogram::upper_bound(Histogram::bucket_count - 1), 4200);
    Histogram histogram;
    histogram.observe(24h);
    EXPECT_EQ(histogram.count(Histogram::bucket_count), 1U);
    histogram.observe(-1s);
    EXPECT_EQ(histogram.count(0), 1U);
    EXPECT_DOUBLE_EQ(histogram.sum_seconds(), 86400);
}

TEST(Histogram, IsExposedCumulatively) {
    Metrics metrics;
    Histogram& histogram = metrics.histogram("longhold_heartbeat_lateness_seconds");
    histogram.observe(1us);
    histogram.observe(1ms);
    histogram.observe(24h);
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("longhold_heartbeat_lateness_seconds_bucket{le=\"1.25e-06\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("longhold_heartbeat_lateness_seconds_bucket{le=\"0.001024\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("longhold_heartbeat_lateness_seconds_bucket{le=\"+Inf\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("longhold_heartbeat_lateness_seconds_count 3\n"));
}

}  // namespace
}  // namespace longhold::telemetry
