// SPDX-License-Identifier: Apache-2.0
// What a WebSocket server would write, for tests, fuzzers and benchmarks: frames right and wrong, and the decoder's
// events as text.
#pragma once

#include <longhold/upstream/frame_decoder.h>

#include <string>
#include <string_view>
#include <vector>

namespace longhold::upstream {

// One frame: `start` is its first byte (0x81 is a whole text message), the length is in its shortest form, nothing is
// masked.
inline std::string server_frame(unsigned start, std::string_view payload) {
    std::string frame{static_cast<char>(start)};
    const std::size_t size = payload.size();
    const unsigned bytes = size < 126 ? 0 : size < 65'536 ? 2 : 8;
    frame.push_back(static_cast<char>(bytes == 0 ? size : bytes == 2 ? 126 : 127));
    for (unsigned i = bytes; i > 0; --i) {
        frame.push_back(static_cast<char>(std::uint64_t{size} >> (8 * (i - 1))));
    }
    return frame.append(payload);
}

inline std::string server_close(unsigned code, std::string_view reason = "") {
    std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code & 0xffU)};
    return server_frame(0x88, payload.append(reason));
}

// Notes each event as one text. Stops at every `stop_every`-th message when that is not 0.
class EventLog final : public FrameVisitor {
public:
    explicit EventLog(std::size_t stop_every = 0) : stop_every_(stop_every) {}

    bool on_message(std::string_view data, bool binary) override {
        events.push_back((binary ? "binary " : "text ") + std::string{data});
        return stop_every_ == 0 || ++messages_ % stop_every_ != 0;
    }

    void on_ping(std::string_view payload) override { events.push_back("ping " + std::string{payload}); }

    void on_pong(std::string_view payload) override { events.push_back("pong " + std::string{payload}); }

    void on_close(std::uint16_t code, std::string_view reason) override {
        events.push_back("close " + std::to_string(code) + " " + std::string{reason});
    }

    void on_fault(DecodeFault fault, std::string_view detail) override {
        faults.push_back(fault);
        events.push_back("fault " + std::to_string(close_code_for(fault)) + " " + std::string{detail});
    }

    std::vector<std::string> events;
    std::vector<DecodeFault> faults;

private:
    std::size_t stop_every_;
    std::size_t messages_ = 0;
};

// All events of `stream`, fed in pieces of the sizes that `next_size` gives. Feeds what a stop left over at once.
template <class NextSize>
std::vector<std::string> decode_in_pieces(std::string_view stream, FrameLimits limits, std::size_t stop_every,
                                          NextSize next_size) {
    FrameDecoder decoder{limits};
    EventLog log{stop_every};
    while (!stream.empty()) {
        std::string piece{stream.substr(0, next_size())};  // its own memory: an over-read is seen by the sanitizer
        stream.remove_prefix(piece.size());
        std::size_t used = 0;
        while (used < piece.size()) {
            used += decoder.feed(std::string_view{piece}.substr(used), log);
        }
    }
    return log.events;
}

}  // namespace longhold::upstream
