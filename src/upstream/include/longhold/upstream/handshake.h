// SPDX-License-Identifier: Apache-2.0
// The opening handshake (RFC 6455, section 4): the request that is sent, and the answer read as it arrives.
//
// Sans-I/O: no clock, socket or thread. What is held of an answer is bounded by response_head_max and refusal_body_max.
#pragma once

#include <longhold/base/time.h>
#include <longhold/upstream/entropy.h>
#include <longhold/upstream/url.h>

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longhold::upstream {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of the first header `name`, whatever its case; nothing where there is none.
[[nodiscard]] std::optional<std::string_view> find_header(const Headers& headers, std::string_view name);

// Whether any header `name` has `token` in its comma-separated list, whatever their case.
[[nodiscard]] bool has_token(const Headers& headers, std::string_view name, std::string_view token);

struct HandshakeRequest {
    std::string bytes;
    std::string key;  // its Sec-WebSocket-Key
};

// Builds the upgrade request with a fresh key. Errors: a sentence naming the header or subprotocol that cannot be sent
// (not a token, a line break in a value, or one that the handshake sets itself).
[[nodiscard]] std::expected<HandshakeRequest, std::string> build_request(const Url& url, const Headers& headers,
                                                                         const std::vector<std::string>& subprotocols,
                                                                         Entropy& entropy);

// The Sec-WebSocket-Accept that answers `key`.
[[nodiscard]] std::string accept_for(std::string_view key);

inline constexpr std::size_t response_head_max = 16'384;
inline constexpr std::size_t refusal_body_max = 512;

// What the server answered.
struct HandshakeAnswer {
    int status = 0;  // 0: no HTTP answer was recognised
    std::string reason;
    Headers headers;
    std::string body;         // first bytes, of a refusal only
    std::string subprotocol;  // the one agreed, or empty
    std::string detail;       // of a refusal: a sentence for people
};

// Reads the answer in whatever pieces it comes. Thread-safety: none.
class HandshakeReader {
public:
    enum class State : std::uint8_t {
        need_more,
        accepted,  // the bytes of the last feed() from used() on belong to the frame decoder
        refused,   // answer().detail says why
    };

    HandshakeReader(std::string key, std::vector<std::string> subprotocols, bool subprotocol_required)
        : key_(std::move(key)), subprotocols_(std::move(subprotocols)), subprotocol_required_(subprotocol_required) {}

    State feed(std::string_view bytes);
    // The connection ended, or nothing more is to be waited for: turns need_more into refused.
    State finish(std::string_view why);

    // How many bytes of the last feed() were the answer's.
    [[nodiscard]] std::size_t used() const { return used_; }

    // Whether the head of a refusal has come, so that only its body is waited for.
    [[nodiscard]] bool reading_body() const { return state_ == State::need_more && in_body_; }

    [[nodiscard]] const HandshakeAnswer& answer() const { return answer_; }

private:
    bool take_head(std::string_view bytes);
    void take_body(std::string_view bytes);
    void end_head();
    bool parse_status_line(std::string_view line);
    bool parse_header(std::string_view line);
    void check_upgrade();
    void begin_body();
    void refuse(std::string detail);

    std::string key_;
    std::vector<std::string> subprotocols_;
    bool subprotocol_required_;
    std::string head_;
    std::size_t skipped_ = 0;  // bytes of interim answers (100, 103)
    std::size_t used_ = 0;
    std::size_t body_wanted_ = 0;  // raw bytes after which the body is enough
    bool chunked_ = false;
    bool in_body_ = false;
    State state_ = State::need_more;
    HandshakeAnswer answer_;
};

// When the server asks to be tried again: its Retry-After in seconds or as a date, the latter against `wall_now`;
// between zero and `most`. Nothing where there is none, or one that cannot be read.
[[nodiscard]] std::optional<Duration> retry_after(const Headers& headers, WallTime wall_now, Duration most);

}  // namespace longhold::upstream
