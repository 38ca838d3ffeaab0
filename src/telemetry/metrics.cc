// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/telemetry/metrics.h>
#include <longhold/telemetry/valid_utf8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <mutex>
#include <variant>
#include <vector>

#include "metrics_table.h"

namespace longhold::telemetry {
namespace {

constexpr std::size_t children_max = 200;
// Buckets are counted in units of a quarter of a microsecond, so that the four steps of the first power of two are
// whole.
constexpr std::uint64_t unit_ns = 250;

std::string_view kind_name(MetricKind kind) {
    switch (kind) {
        case MetricKind::counter:
            return "counter";
        case MetricKind::gauge:
            return "gauge";
        case MetricKind::histogram:
            return "histogram";
    }
    return "untyped";
}

void append_number(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out.append(std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
    out.append(text.data(), end.ptr);
}

void append_escaped(std::string& out, std::string_view text, bool quotes_too) {
    for (const char c : text) {
        if (c == '\n') {
            out.append("\\n");
            continue;
        }
        if (c == '\\' || (quotes_too && c == '"')) {
            out.push_back('\\');
        }
        out.push_back(c);
    }
}

// `name="value",…` without the braces.
std::string label_text(const MetricLabels& labels) {
    std::string text;
    for (const auto& [name, value] : labels) {
        text.append(text.empty() ? "" : ",").append(name).append("=\"");
        append_escaped(text, to_valid_utf8(value), true);
        text.push_back('"');
    }
    return text;
}

void append_name(std::string& out, std::string_view name, std::string_view labels) {
    out.append(name);
    if (!labels.empty()) {
        out.append("{").append(labels).append("}");
    }
    out.push_back(' ');
}

void append_sample(std::string& out, std::string_view name, std::string_view labels, std::uint64_t value) {
    append_name(out, name, labels);
    out.append(std::to_string(value)).push_back('\n');
}

void append_child(std::string& out, std::string_view name, const std::string& labels, const Counter& counter) {
    append_sample(out, name, labels, counter.value());
}

void append_child(std::string& out, std::string_view name, const std::string& labels, const Gauge& gauge) {
    append_name(out, name, labels);
    append_number(out, gauge.value());
    out.push_back('\n');
}

void append_child(std::string& out, std::string_view name, const std::string& labels, const Histogram& histogram) {
    const std::string base{name};
    std::uint64_t total = 0;
    for (std::size_t bucket = 0; bucket <= Histogram::bucket_count; ++bucket) {
        total += histogram.count(bucket);
        std::string with_bound = labels + (labels.empty() ? "le=\"" : ",le=\"");
        append_number(with_bound, bucket < Histogram::bucket_count ? Histogram::upper_bound(bucket) : HUGE_VAL);
        append_sample(out, base + "_bucket", with_bound + "\"", total);
    }
    append_name(out, base + "_sum", labels);
    append_number(out, histogram.sum_seconds());
    out.push_back('\n');
    append_sample(out, base + "_count", labels, total);
}

// A metric and its children, one for each set of label values. Children never move and are never removed.
struct Family {
    const MetricSpec* spec = nullptr;
    std::map<std::string, std::variant<Counter, Gauge, Histogram>> children{};
};

}  // namespace

void Histogram::observe(Duration duration) {
    const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
    sum_.fetch_add(static_cast<std::int64_t>(ns), std::memory_order_relaxed);
    // Bounds belong to the bucket below them, as Prometheus has it.
    const std::uint64_t units = ns == 0 ? 0 : (ns - 1) / unit_ns;
    std::size_t bucket = 0;
    if (units >= 4) {
        const auto power = static_cast<unsigned>(std::bit_width(units)) - 3;
        bucket = std::min<std::size_t>(4 * std::size_t{power} + (units >> power & 3U), bucket_count);
    }
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
}

double Histogram::upper_bound(std::size_t bucket) {
    const double units = std::ldexp(static_cast<double>(5 + bucket % 4), static_cast<int>(bucket / 4));
    return units / (1e9 / static_cast<double>(unit_ns));
}

struct Metrics::Impl {
    template <class Child>
    Child& child(MetricKind kind, std::string_view name, const MetricLabels& labels);

    mutable std::mutex mutex;  // held for a look-up or a page of text; never while anything else is waited for
    std::map<std::string_view, Family> families;
};

template <class Child>
Child& Metrics::Impl::child(MetricKind kind, std::string_view name, const MetricLabels& labels) {
    const std::lock_guard lock{mutex};
    const auto found = families.find(name);
    invariant(found != families.end(), "a metric is asked for by a name in the table");
    Family& family = found->second;
    invariant(family.spec->kind == kind, "a metric is asked for by its kind in the table");
    invariant(labels.size() == family.spec->labels.size(), "a metric is asked for with its labels in the table");
    for (const std::string_view label : family.spec->labels) {
        invariant(labels.contains(std::string{label}), "a metric is asked for with its labels in the table");
    }
    const std::string key = label_text(labels);
    auto existing = family.children.find(key);
    if (existing == family.children.end()) {
        MetricLabels others = labels;
        const bool full = family.children.size() >= children_max;
        for (auto& [label, value] : others) {
            value = full ? "other" : value;
        }
        existing = family.children.try_emplace(label_text(others), std::in_place_type<Child>).first;
    }
    return std::get<Child>(existing->second);
}

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
    for (const MetricSpec& spec : metrics_table()) {
        impl_->families.emplace(spec.name, Family{&spec});
        std::vector<MetricLabels> known;
        if (spec.labels.empty()) {
            known.emplace_back();
        }
        for (const std::string_view value : spec.values) {
            known.push_back(MetricLabels{{std::string{spec.labels.front()}, std::string{value}}});
        }
        for (const MetricLabels& labels : known) {
            switch (spec.kind) {
                case MetricKind::counter:
                    counter(spec.name, labels);
                    break;
                case MetricKind::gauge:
                    gauge(spec.name, labels);
                    break;
                case MetricKind::histogram:
                    histogram(spec.name, labels);
                    break;
            }
        }
    }
}

Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name, const MetricLabels& labels) {
    return impl_->child<Counter>(MetricKind::counter, name, labels);
}

Gauge& Metrics::gauge(std::string_view name, const MetricLabels& labels) {
    return impl_->child<Gauge>(MetricKind::gauge, name, labels);
}

Histogram& Metrics::histogram(std::string_view name, const MetricLabels& labels) {
    return impl_->child<Histogram>(MetricKind::histogram, name, labels);
}

std::string Metrics::expose() const {
    const std::lock_guard lock{impl_->mutex};
    std::string out;
    for (const auto& [name, family] : impl_->families) {
        if (family.children.empty()) {
            continue;
        }
        out.append("# HELP ").append(name).append(" ");
        append_escaped(out, family.spec->help, false);
        out.append("\n# TYPE ").append(name).append(" ").append(kind_name(family.spec->kind)).append("\n");
        for (const auto& [labels, child] : family.children) {
            std::visit([&](const auto& metric) { append_child(out, name, labels, metric); }, child);
        }
    }
    return out;
}

}  // namespace longhold::telemetry
