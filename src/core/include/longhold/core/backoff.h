// SPDX-License-Identifier: Apache-2.0
// Backoff: how long a connection waits before it dials again, and how its end is judged.
//
// Full jitter over an exponential range, as in the article "Exponential Backoff And Jitter" of the
// AWS architecture blog: a fleet that lost one upstream together must not come back together, so the
// first retry is spread as well. The exponent starts anew only after a connection that was useful;
// that a handshake succeeded proves nothing.
//
// Pure: random values are handed in. Thread-safety: none; lives with its connection.
#pragma once

#include <longhold/base/time.h>

#include <cstdint>
#include <optional>
#include <string>

namespace longhold::core {

enum class RetryClass : std::uint8_t {
    retry,       // the upstream or the path broke; likely to be mended soon
    retry_slow,  // likely to fail again until a person acts
    stop,        // not wanted any more
};

enum class EndKind : std::uint8_t {
    not_wanted,       // stopped, deleted, released: the owner's own decision
    unreachable,      // no address, refused, timed out, before a TCP connection stood
    tls_failed,       // the TLS handshake failed otherwise than by a certificate
    certificate,      // the upstream's certificate does not verify
    http_status,      // the upgrade was answered otherwise than by 101
    bad_handshake,    // 101, but not as the protocol wants it
    lost,             // end of stream or reset without a close frame
    closed,           // a close frame came
    silent,           // liveness: no pong, or nothing at all, in time
    protocol_breach,  // the upstream broke the WebSocket protocol
    message_too_big,  // over our limit
    open_failed,      // the open script failed or timed out
    rotated,          // closed by us to dial anew: a known maximum age, a restart to be replayed
};

// How a connection, or an attempt at one, ended.
struct ConnectionEnd {
    EndKind kind = EndKind::lost;
    std::uint16_t close_code = 0;           // of `closed`; 0: the frame had none
    std::uint16_t http_status = 0;          // of `http_status`
    std::optional<Duration> retry_after{};  // as the upstream asked
};

// The judgement of an end, by the defaults of this product; a profile's own table comes first.
struct EndVerdict {
    RetryClass retry = RetryClass::retry;
    bool alarm = false;               // a person should know at once
    bool refresh_credential = false;  // read secrets again before the next attempt
    Duration wait_min{};              // of the next attempt, where the end asks for more than usual

    friend bool operator==(const EndVerdict&, const EndVerdict&) = default;
};

[[nodiscard]] EndVerdict judge(const ConnectionEnd& end);

struct BackoffPolicy {
    Duration floor = std::chrono::milliseconds{50};  // no retry comes sooner
    Duration min = std::chrono::milliseconds{500};   // upper end of the first retry's range
    Duration max = std::chrono::seconds{60};
    Duration slow_min = std::chrono::seconds{30};  // the same for retry_slow
    Duration slow_max = std::chrono::minutes{10};
    Duration useful_after = std::chrono::seconds{10};
    Duration retry_after_max = std::chrono::minutes{10};
};

// What is wrong with a policy, for people; nothing when it can be used.
[[nodiscard]] std::optional<std::string> fault_of(const BackoffPolicy& policy);

// What the connection came to before it ended; all false and zero for an attempt that never stood.
struct ConnectionLife {
    bool ready = false;  // the open script was through
    bool delivered_data = false;
    Duration ready_for{};  // time from ready to the end
};

class Backoff {
public:
    // Requires a policy without fault.
    explicit Backoff(const BackoffPolicy& policy);

    // The wait before the next attempt; nothing when there is to be none. `random` is uniform in
    // [0, 1). The wait is uniform in [floor, min(max, min * 2^n)] after n attempts in a row that were
    // not useful. A longer wait that the upstream asked for is a floor, with a tenth of it (at least
    // `min`) as the range above.
    [[nodiscard]] std::optional<Duration> ended(const ConnectionEnd& end, const ConnectionLife& life, double random);

    // Attempts in a row that were not useful.
    [[nodiscard]] std::uint32_t attempts() const { return attempts_; }

private:
    [[nodiscard]] bool useful(const ConnectionLife& life) const;

    BackoffPolicy policy_;
    std::uint32_t attempts_ = 0;
    Duration wait_last_{};
};

}  // namespace longhold::core
