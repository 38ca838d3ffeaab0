// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms by name, exposed as Prometheus text.
//
// Every metric is declared in one table (metrics_table.cc) with its help, unit and labels: asking
// for a name that is not there stops the process. Names have the prefix `longhold_`, base units,
// and `_total` on counters; no connection id or URL is ever a label.
//
// Thread-safety: all members may be called from any thread. References stay valid as long as the
// Metrics object; keep them rather than asking again on a hot path.
#pragma once

#include <longhold/base/time.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace longhold::telemetry {

class Counter {
public:
    void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

class Gauge {
public:
    void set(double value) { value_.store(value, std::memory_order_relaxed); }

    void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }

    [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<double> value_{0};
};

// Durations in log-linear buckets from 1 µs to 71 minutes: four linear steps for each power of two. The middle of a
// bucket is off by at most 1/8 of any duration in it (of 1 µs and more); a quantile that Prometheus interpolates, by at
// most 1/4. Shorter ones count as the first bucket's, longer ones only in `+Inf`.
class Histogram {
public:
    // A negative duration counts as none.
    void observe(Duration duration);

    static constexpr std::size_t bucket_count = 4 * 32;
    // The largest duration of a bucket, in seconds.
    [[nodiscard]] static double upper_bound(std::size_t bucket);

    // Requires bucket <= bucket_count; bucket_count holds those above the last bound.
    [[nodiscard]] std::uint64_t count(std::size_t bucket) const {
        return counts_[bucket].load(std::memory_order_relaxed);
    }

    [[nodiscard]] double sum_seconds() const {
        return static_cast<double>(sum_.load(std::memory_order_relaxed)) * 1e-9;
    }

private:
    std::atomic<std::uint64_t> counts_[bucket_count + 1]{};
    std::atomic<std::int64_t> sum_{0};
};

using MetricLabels = std::map<std::string, std::string>;

class Metrics {
public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // Each stops the process when `name` is not in the table, is of another kind, or has other labels. A metric has at
    // most 200 sets of label values; beyond, all share one whose values are "other".
    Counter& counter(std::string_view name, const MetricLabels& labels = {});
    Gauge& gauge(std::string_view name, const MetricLabels& labels = {});
    Histogram& histogram(std::string_view name, const MetricLabels& labels = {});

    // The Prometheus text format, version 0.0.4.
    [[nodiscard]] std::string expose() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::telemetry
