// SPDX-License-Identifier: Apache-2.0
// Feeds any bytes as a server's answer, whole and in pieces: the outcome must be the same and stay in its bounds. Also
// reads them as a URL, a header list and a Retry-After.
#include <longhold/base/invariant.h>
#include <longhold/upstream/handshake.h>

#include <cstddef>
#include <cstdint>

namespace {

using namespace longhold;
using namespace longhold::upstream;

constexpr const char* key = "dGhlIHNhbXBsZSBub25jZQ==";

struct Outcome {
    HandshakeReader::State state = HandshakeReader::State::need_more;
    std::size_t used = 0;
    HandshakeAnswer answer;
};

Outcome read(std::string_view bytes, std::size_t piece) {
    HandshakeReader reader{key, {"v1", "v2"}, false};
    Outcome out;
    while (out.state == HandshakeReader::State::need_more && out.used < bytes.size()) {
        const std::string own{bytes.substr(out.used, piece)};
        out.state = reader.feed(own);
        out.used += reader.used();
        invariant(out.state != HandshakeReader::State::need_more || reader.used() == own.size(),
                  "all is used or all is known");
    }
    out.state = reader.finish("the end");
    out.answer = reader.answer();
    return out;
}

void check(std::string_view input) {
    if (input.empty()) {
        return;
    }
    const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 40U;
    const std::string_view bytes = input.substr(1);
    const Outcome whole = read(bytes, bytes.size());
    const Outcome split = read(bytes, piece);
    invariant(whole.state == split.state && whole.answer.status == split.answer.status, "a split changes no outcome");
    invariant(whole.state != HandshakeReader::State::accepted || whole.used == split.used, "a split moves no frame");
    invariant(whole.answer.headers == split.answer.headers, "a split changes no header");
    invariant(whole.answer.body.size() <= refusal_body_max, "a refusal's body is bounded");
    const auto wait = retry_after({{"Retry-After", std::string{bytes}}}, WallTime{}, std::chrono::hours{1});
    invariant(!wait || (*wait >= Duration::zero() && *wait <= std::chrono::hours{1}), "Retry-After is clamped");
    if (const auto url = parse_url(bytes)) {
        invariant(parse_url(url->text()) == url, "a URL reads back as it is written");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check({reinterpret_cast<const char*>(data), size});
    return 0;
}
