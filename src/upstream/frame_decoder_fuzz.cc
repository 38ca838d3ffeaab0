// SPDX-License-Identifier: Apache-2.0
// Feeds any bytes whole and in pieces: the events must be the same, and between messages the decoder must own nothing.
#include <longhold/base/invariant.h>

#include <cstddef>
#include <cstdint>

#include "server_frames.h"

namespace {

using namespace longhold;
using namespace longhold::upstream;

// The first byte says how the rest is split.
void check(std::string_view input) {
    if (input.empty()) {
        return;
    }
    const auto how = static_cast<unsigned char>(input.front());
    const std::string_view stream = input.substr(1);
    const FrameLimits limits{.frame_bytes_max = 300, .message_bytes_max = 500};
    std::size_t number = how;
    const auto whole = decode_in_pieces(stream, limits, 0, [&] { return stream.size(); });
    const auto split =
        decode_in_pieces(stream, limits, how % 4, [&] { return 1 + (number = number * 31 + 7) % (1 + how / 4); });
    invariant(whole == split, "every split of a stream gives the same events");

    FrameDecoder decoder{limits};
    EventLog log;
    decoder.feed(stream, log);
    invariant(decoder.owned_bytes() < 2'048, "a decoder owns at most the message at hand");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check({reinterpret_cast<const char*>(data), size});
    return 0;
}
