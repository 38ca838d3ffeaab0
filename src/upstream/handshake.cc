// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/upstream/handshake.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "header_text.h"

namespace longhold::upstream {
namespace {

constexpr std::array<std::string_view, 8> own_headers{"host",
                                                      "upgrade",
                                                      "connection",
                                                      "sec-websocket-key",
                                                      "sec-websocket-version",
                                                      "sec-websocket-protocol",
                                                      "sec-websocket-extensions",
                                                      "content-length"};

// Raw bytes of a chunked body that are enough for refusal_body_max decoded ones, in all usual cases.
constexpr std::size_t chunked_body_max = 2 * refusal_body_max;

std::string check_own(const Headers& headers, const std::vector<std::string>& subprotocols) {
    for (const auto& [name, value] : headers) {
        if (!is_token(name)) {
            return "the header name \"" + printable(name) + "\" is not a token";
        }
        if (std::ranges::any_of(own_headers, [&](std::string_view own) { return equal_ignoring_case(own, name); })) {
            return "the header \"" + name + "\" is set by the handshake itself";
        }
        if (!is_field_value(value)) {
            return "the value of header \"" + name + "\" has a line break or another control character";
        }
    }
    for (const auto& subprotocol : subprotocols) {
        if (!is_token(subprotocol)) {
            return "the subprotocol \"" + printable(subprotocol) + "\" is not a token";
        }
    }
    return {};
}

std::string fresh_key(Entropy& entropy) {
    std::array<std::uint32_t, 4> nonce{};
    for (auto& word : nonce) {
        word = entropy.next();
    }
    std::string key;
    append_base64(key, {reinterpret_cast<const char*>(nonce.data()), sizeof nonce});
    return key;
}

}  // namespace

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
    const auto found =
        std::ranges::find_if(headers, [&](const auto& one) { return equal_ignoring_case(one.first, name); });
    return found == headers.end() ? std::nullopt : std::optional<std::string_view>{found->second};
}

bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
    for (const auto& [own_name, value] : headers) {
        if (!equal_ignoring_case(own_name, name)) {
            continue;
        }
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            if (equal_ignoring_case(trim(rest.substr(0, comma)), token)) {
                return true;
            }
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return false;
}

std::expected<HandshakeRequest, std::string> build_request(const Url& url, const Headers& headers,
                                                           const std::vector<std::string>& subprotocols,
                                                           Entropy& entropy) {
    if (std::string problem = check_own(headers, subprotocols); !problem.empty()) {
        return std::unexpected(std::move(problem));
    }
    HandshakeRequest request;
    request.key = fresh_key(entropy);
    request.bytes =
        "GET " + url.target + " HTTP/1.1\r\nHost: " + url.authority() +
        "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
        request.key + "\r\n";
    if (!subprotocols.empty()) {
        request.bytes += "Sec-WebSocket-Protocol: ";
        for (const auto& subprotocol : subprotocols) {
            request.bytes += (&subprotocol == subprotocols.data() ? "" : ", ") + subprotocol;
        }
        request.bytes += "\r\n";
    }
    for (const auto& [name, value] : headers) {
        request.bytes += name + ": " + value + "\r\n";
    }
    request.bytes += "\r\n";
    return request;
}

std::string accept_for(std::string_view key) {
    const std::string text = std::string{key} + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr);
    std::string out;
    append_base64(out, {reinterpret_cast<const char*>(digest.data()), size});
    return out;
}

HandshakeReader::State HandshakeReader::feed(std::string_view bytes) {
    used_ = 0;
    while (state_ == State::need_more && !in_body_ && used_ < bytes.size()) {
        if (take_head(bytes.substr(used_))) {
            end_head();
        }
    }
    if (state_ == State::need_more && in_body_) {
        take_body(bytes.substr(used_));
    }
    return state_;
}

HandshakeReader::State HandshakeReader::finish(std::string_view why) {
    if (state_ != State::need_more) {
        return state_;
    }
    if (in_body_) {
        if (chunked_) {
            answer_.body = without_chunks(answer_.body);
        }
        answer_.body.resize(std::min(answer_.body.size(), refusal_body_max));
        refuse("the server refused the upgrade with HTTP " + std::to_string(answer_.status) +
               (answer_.reason.empty() ? "" : " " + printable(answer_.reason)));
    } else {
        refuse(std::string{why} + (head_.empty() ? " before any answer to the upgrade request"
                                                 : " inside the head of the answer: " + printable(head_)));
    }
    return state_;
}

// Takes bytes up to the head's empty line, or what there is. True when the head is whole.
bool HandshakeReader::take_head(std::string_view bytes) {
    const std::size_t from = head_.size() < 3 ? 0 : head_.size() - 3;
    const std::size_t room = response_head_max - skipped_ - head_.size();
    const std::size_t before = head_.size();
    head_.append(bytes.substr(0, room));
    const std::size_t end = head_end(head_, from);
    if (end != std::string::npos) {
        head_.resize(end);
        used_ += end - before;
        return true;
    }
    used_ += head_.size() - before;
    constexpr std::string_view wanted = "HTTP/1.";
    if (head_.compare(0, std::min(wanted.size(), head_.size()), wanted, 0, std::min(wanted.size(), head_.size())) !=
        0) {
        refuse("the server does not speak HTTP/1: its answer begins with " + printable(head_));
    } else if (head_.size() + skipped_ == response_head_max) {
        refuse("the head of the server's answer is over " + std::to_string(response_head_max) + " bytes");
    }
    return false;
}

void HandshakeReader::end_head() {
    std::string_view rest = head_;
    answer_ = HandshakeAnswer{};
    bool first = true;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.empty()) {
            break;
        }
        if (first ? !parse_status_line(line) : !parse_header(line)) {
            return;
        }
        first = false;
    }
    if (answer_.status >= 100 && answer_.status < 200 && answer_.status != 101) {
        skipped_ += head_.size();  // an interim answer: the real one follows
        head_.clear();
        answer_ = HandshakeAnswer{};
        if (skipped_ >= response_head_max) {
            refuse("the server sends interim answers without end");
        }
    } else if (answer_.status == 101) {
        check_upgrade();
    } else {
        begin_body();
    }
}

bool HandshakeReader::parse_status_line(std::string_view line) {
    // "HTTP/1.1 101 Switching Protocols"
    const bool shaped =
        line.size() >= 12 && line.starts_with("HTTP/1.") && line[8] == ' ' && (line.size() == 12 || line[12] == ' ');
    int status = 0;
    if (shaped) {
        const auto [end, failure] = std::from_chars(line.data() + 9, line.data() + 12, status);
        if (failure != std::errc{} || end != line.data() + 12) {
            status = 0;
        }
    }
    if (status < 100) {
        refuse("the server's answer begins with a line that is not HTTP/1's: " + printable(line));
        return false;
    }
    answer_.status = status;
    answer_.reason = line.size() > 13 ? std::string{line.substr(13)} : "";
    return true;
}

bool HandshakeReader::parse_header(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        refuse("the server's answer has a line that is not a header: " + printable(line));
        return false;
    }
    answer_.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    return true;
}

void HandshakeReader::check_upgrade() {
    const Headers& headers = answer_.headers;
    if (!has_token(headers, "Upgrade", "websocket")) {
        return refuse("the server's 101 answer does not upgrade to websocket");
    }
    if (!has_token(headers, "Connection", "upgrade")) {
        return refuse("the server's 101 answer has no Connection: Upgrade");
    }
    const auto accept = find_header(headers, "Sec-WebSocket-Accept");
    if (!accept || *accept != accept_for(key_)) {
        return refuse(
            accept
                ? "the server's Sec-WebSocket-Accept does not answer our key: another's answer, or no WebSocket server"
                : "the server's 101 answer has no Sec-WebSocket-Accept");
    }
    if (const auto extensions = find_header(headers, "Sec-WebSocket-Extensions"); extensions && !extensions->empty()) {
        return refuse("the server switched on an extension that was not offered: " + printable(*extensions));
    }
    const auto subprotocol = find_header(headers, "Sec-WebSocket-Protocol");
    if (subprotocol && std::ranges::find(subprotocols_, *subprotocol) == subprotocols_.end()) {
        return refuse("the server chose a subprotocol that was not offered: " + printable(*subprotocol));
    }
    if (!subprotocol && subprotocol_required_ && !subprotocols_.empty()) {
        return refuse("the server agreed to none of the subprotocols offered");
    }
    answer_.subprotocol = subprotocol.value_or("");
    head_ = {};
    state_ = State::accepted;
}

void HandshakeReader::begin_body() {
    in_body_ = true;
    head_ = {};
    body_wanted_ = refusal_body_max;
    if (answer_.status == 204 || answer_.status == 304) {
        body_wanted_ = 0;
    } else if (has_token(answer_.headers, "Transfer-Encoding", "chunked")) {
        chunked_ = true;
        body_wanted_ = chunked_body_max;
    } else if (const auto length = find_header(answer_.headers, "Content-Length")) {
        std::uint64_t bytes = 0;
        const auto [end, failure] = std::from_chars(length->data(), length->data() + length->size(), bytes);
        if (failure == std::errc{}) {
            body_wanted_ = std::min<std::uint64_t>(bytes, refusal_body_max);
        }
    }
}

void HandshakeReader::take_body(std::string_view bytes) {
    const std::string_view taken = bytes.substr(0, body_wanted_ - answer_.body.size());
    answer_.body.append(taken);
    used_ += taken.size();
    if (answer_.body.size() == body_wanted_ || (chunked_ && chunks_ended(answer_.body))) {
        finish({});
    }
}

void HandshakeReader::refuse(std::string detail) {
    state_ = State::refused;
    answer_.detail = std::move(detail);
    head_ = {};
}

}  // namespace longhold::upstream
