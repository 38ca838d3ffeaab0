// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/upstream/frame_encoder.h>

#include "server_frames.h"

namespace longhold::upstream {
namespace {

// Reads one masked frame with all its bytes, as a server would; independent of the encoder.
std::string unmask(std::string_view frame, std::string_view& payload, std::string& memory) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(frame[i]); };
    EXPECT_TRUE((at(1) & 0x80U) != 0) << "clients mask";
    std::size_t length = at(1) & 0x7fU;
    std::size_t header = 2;
    if (length == 126) {
        length = std::size_t{at(2)} << 8U | at(3);
        header = 4;
    } else if (length == 127) {
        length = 0;
        for (std::size_t i = 2; i < 10; ++i) {
            length = length << 8U | at(i);
        }
        header = 10;
    }
    EXPECT_EQ(frame.size(), header + 4 + length);
    memory.clear();
    for (std::size_t i = 0; i < length; ++i) {
        memory.push_back(static_cast<char>(frame[header + 4 + i] ^ frame[header + i % 4]));
    }
    payload = memory;
    return std::string{frame.substr(0, header)};
}

class FrameEncoderLength : public testing::TestWithParam<std::size_t> {};

TEST_P(FrameEncoderLength, IsShortestAndThePayloadComesBack) {
    std::string payload;
    for (std::size_t i = 0; i < GetParam(); ++i) {
        payload.push_back(static_cast<char>(i * 7));
    }
    std::string out = "kept";
    append_frame(out, FrameType::binary, payload, 0xa1b2c3d4);
    std::string_view got;
    std::string memory;
    const std::string header = unmask(std::string_view{out}.substr(4), got, memory);
    EXPECT_EQ(got, payload);
    std::string want = server_frame(0x82, payload).substr(0, header.size());
    want[1] = static_cast<char>(static_cast<unsigned char>(want[1]) | 0x80U);
    EXPECT_EQ(header, want);
}

INSTANTIATE_TEST_SUITE_P(Table, FrameEncoderLength,
                         testing::Values(0, 1, 7, 8, 9, 125, 126, 127, 65'535, 65'536, 70'001));

TEST(FrameEncoder, MatchesTheExampleOfTheStandard) {
    std::string out;
    append_frame(out, FrameType::text, "Hello", 0x3d21fa37);  // RFC 6455, section 5.7, read as little-endian
    EXPECT_EQ(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
}

TEST(FrameEncoder, WritesACloseWithoutACode) {
    std::string out;
    append_close_frame(out, close_code_absent, "ignored", 1);
    EXPECT_EQ(out.size(), 6U);
}

TEST(FrameEncoder, CutsAReasonAtACharactersEdge) {
    std::string reason(122, 'x');
    reason += "\xe2\x82\xac";
    std::string out;
    append_close_frame(out, 1000, reason, 7);
    std::string_view payload;
    std::string memory;
    unmask(out, payload, memory);
    EXPECT_EQ(payload.substr(2), std::string(122, 'x'));
}

}  // namespace
}  // namespace longhold::upstream
