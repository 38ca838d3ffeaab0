// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>
#include <longhold/core/backoff.h>

#include <algorithm>
#include <utility>

namespace longhold::core {
namespace {

constexpr EndVerdict retry{};
constexpr EndVerdict slow_alarm{.retry = RetryClass::retry_slow, .alarm = true};
constexpr Duration try_later_wait = std::chrono::seconds{5};

EndVerdict judge_close(std::uint16_t code) {
    if (code >= 3000) {
        return retry;  // means what the vendor says: the profile's table knows
    }
    switch (code) {
        case 0:     // no code in the frame
        case 1000:  // many servers say so when they restart
        case 1001:
        case 1005:
        case 1006:
        case 1011:
        case 1012:
        case 1014:
        case 1015:
            return retry;
        case 1013:
            return {.wait_min = try_later_wait};
        case 1009:
            return {.alarm = true};
        default:  // 1002, 1003, 1007, 1008, 1010: our bug or a wrong profile; others are not defined
            return slow_alarm;
    }
}

EndVerdict judge_status(std::uint16_t status) {
    switch (status) {
        case 408:
        case 425:
        case 429:
        case 500:
        case 502:
        case 503:
        case 504:
            return retry;
        case 401:
        case 403:
            return {.retry = RetryClass::retry_slow, .alarm = true, .refresh_credential = true};
        default:
            // 520 to 529: a proxy that found no origin. Else: redirects that lead nowhere, login pages
            // with 200, wrong paths.
            return status >= 520 && status <= 529 ? retry : slow_alarm;
    }
}

// min * 2^n, at most max.
Duration exponential(Duration min, Duration max, std::uint32_t n) {
    Duration range = min;
    for (; n > 0 && range < max; --n) {
        range = range > max / 2 ? max : range * 2;
    }
    return std::min(range, max);
}

}  // namespace

EndVerdict judge(const ConnectionEnd& end) {
    switch (end.kind) {
        case EndKind::not_wanted:
            return {.retry = RetryClass::stop};
        case EndKind::unreachable:
        case EndKind::tls_failed:
        case EndKind::lost:
        case EndKind::silent:
        case EndKind::open_failed:
        case EndKind::rotated:
            return retry;
        case EndKind::message_too_big:
            return {.alarm = true};
        case EndKind::certificate:
        case EndKind::bad_handshake:
        case EndKind::protocol_breach:
            return slow_alarm;
        case EndKind::http_status:
            return judge_status(end.http_status);
        case EndKind::closed:
            return judge_close(end.close_code);
    }
    std::unreachable();
}

std::optional<std::string> fault_of(const BackoffPolicy& policy) {
    const auto order = [](std::string_view what, Duration low, Duration high) {
        return "backoff: " + std::string{what} + " must rise, but " + format_duration(low) + " is above " +
               format_duration(high);
    };
    if (policy.floor < Duration::zero() || policy.min <= Duration::zero() || policy.slow_min <= Duration::zero()) {
        return "backoff: min and slow_min must be above zero, floor not below it";
    }
    if (policy.floor > policy.min) {
        return order("floor and min", policy.floor, policy.min);
    }
    if (policy.min > policy.max) {
        return order("min and max", policy.min, policy.max);
    }
    if (policy.slow_min > policy.slow_max) {
        return order("slow_min and slow_max", policy.slow_min, policy.slow_max);
    }
    return std::nullopt;
}

Backoff::Backoff(const BackoffPolicy& policy) : policy_(policy) {
    invariant(!fault_of(policy), "the settings were checked");
}

bool Backoff::useful(const ConnectionLife& life) const {
    return life.ready && (life.delivered_data || life.ready_for >= std::max(policy_.useful_after, wait_last_));
}

std::optional<Duration> Backoff::ended(const ConnectionEnd& end, const ConnectionLife& life, double random) {
    invariant(random >= 0 && random < 1, "a random value lies in [0, 1)");
    const auto verdict = judge(end);
    if (useful(life)) {
        attempts_ = 0;
    }
    if (verdict.retry == RetryClass::stop) {
        return std::nullopt;
    }
    const bool slow = verdict.retry == RetryClass::retry_slow;
    const Duration min = slow ? policy_.slow_min : policy_.min;
    const Duration range = exponential(min, slow ? policy_.slow_max : policy_.max, attempts_);
    const Duration asked =
        std::clamp(end.retry_after.value_or(Duration::zero()), Duration::zero(), policy_.retry_after_max);
    const Duration floor = std::max({policy_.floor, verdict.wait_min, asked});
    const bool longer = floor > policy_.floor;
    const Duration ceiling = longer ? std::max(range, floor + std::max(floor / 10, policy_.min)) : range;
    ++attempts_;
    wait_last_ = floor + scale(ceiling - floor, random);
    return wait_last_;
}

}  // namespace longhold::core
