// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/upstream/frame_decoder.h>

#include "server_frames.h"

namespace longhold::upstream {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Events = std::vector<std::string>;

std::string bytes(std::initializer_list<unsigned> values) {
    std::string out;
    for (const unsigned value : values) {
        out.push_back(static_cast<char>(value));
    }
    return out;
}

Events decode(std::string_view stream, FrameLimits limits = {}) {
    return decode_in_pieces(stream, limits, 0, [&] { return stream.size(); });
}

Events decode_bytewise(std::string_view stream, FrameLimits limits = {}) {
    return decode_in_pieces(stream, limits, 0, [] { return std::size_t{1}; });
}

struct BreachCase {
    std::string_view name;
    std::string stream;
    DecodeFault want;
    std::uint16_t close_code;
};

class FrameDecoderBreach : public testing::TestWithParam<BreachCase> {};

TEST_P(FrameDecoderBreach, IsRefusedHoweverItArrives) {
    const auto& param = GetParam();
    const std::string stream = server_frame(0x81, "before") + param.stream + server_frame(0x81, "after");
    for (const bool bytewise : {false, true}) {
        FrameDecoder decoder{{.frame_bytes_max = 1'000, .message_bytes_max = 1'500}};
        EventLog log;
        for (std::size_t at = 0; at < stream.size(); at += bytewise ? 1 : stream.size()) {
            decoder.feed(std::string_view{stream}.substr(at, bytewise ? 1 : stream.size()), log);
        }
        ASSERT_THAT(log.faults, ElementsAre(param.want));
        EXPECT_EQ(close_code_for(param.want), param.close_code);
        EXPECT_EQ(log.events.front(), "text before");
        EXPECT_THAT(log.events.back(), HasSubstr("fault"));
        EXPECT_TRUE(decoder.finished());
        EXPECT_LE(decoder.owned_bytes(), 2 * std::string{}.capacity());
    }
}

std::string x(std::size_t count) {
    return std::string(count, 'x');
}

INSTANTIATE_TEST_SUITE_P(
    Table, FrameDecoderBreach,
    testing::Values(
        BreachCase{"reserved_bit_1", server_frame(0xc1, "a"), DecodeFault::reserved_bits, 1002},
        BreachCase{"reserved_bit_2", server_frame(0xa1, "a"), DecodeFault::reserved_bits, 1002},
        BreachCase{"reserved_bit_3_on_a_ping", server_frame(0x99, ""), DecodeFault::reserved_bits, 1002},
        BreachCase{"opcode_3", server_frame(0x83, "a"), DecodeFault::unknown_opcode, 1002},
        BreachCase{"opcode_7", server_frame(0x87, ""), DecodeFault::unknown_opcode, 1002},
        BreachCase{"opcode_11", server_frame(0x8b, ""), DecodeFault::unknown_opcode, 1002},
        BreachCase{"opcode_15", server_frame(0x8f, "a"), DecodeFault::unknown_opcode, 1002},
        BreachCase{"masked", bytes({0x81, 0x81, 1, 2, 3, 4, 'a'}), DecodeFault::masked_frame, 1002},
        BreachCase{"fragmented_ping", server_frame(0x09, "a"), DecodeFault::fragmented_control, 1002},
        BreachCase{"fragmented_close", server_frame(0x08, ""), DecodeFault::fragmented_control, 1002},
        BreachCase{"ping_of_126", server_frame(0x89, x(126)), DecodeFault::control_too_long, 1002},
        BreachCase{"close_of_126", server_frame(0x88, x(126)), DecodeFault::control_too_long, 1002},
        BreachCase{"length_125_in_16_bits", bytes({0x81, 126, 0, 125}) + x(125), DecodeFault::length_not_minimal, 1002},
        BreachCase{"length_65535_in_64_bits", bytes({0x81, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff}),
                   DecodeFault::length_not_minimal, 1002},
        BreachCase{"length_with_its_top_bit", bytes({0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0}),
                   DecodeFault::length_top_bit, 1002},
        BreachCase{"length_that_would_wrap", bytes({0x81, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
                   DecodeFault::frame_too_big, 1009},
        BreachCase{"frame_over_its_limit", server_frame(0x81, x(1'001)), DecodeFault::frame_too_big, 1009},
        BreachCase{"message_over_its_limit", server_frame(0x01, x(800)) + server_frame(0x80, x(701)),
                   DecodeFault::message_too_big, 1009},
        BreachCase{"continuation_of_nothing", server_frame(0x80, "a"), DecodeFault::unexpected_continuation, 1002},
        BreachCase{"continuation_after_a_whole_message", server_frame(0x81, "a") + server_frame(0x00, "b"),
                   DecodeFault::unexpected_continuation, 1002},
        BreachCase{"message_inside_a_message", server_frame(0x01, "a") + server_frame(0x81, "b"),
                   DecodeFault::continuation_expected, 1002},
        BreachCase{"close_payload_of_one_byte", server_frame(0x88, "a"), DecodeFault::close_payload_of_one_byte, 1002},
        BreachCase{"close_code_999", server_close(999), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_1004", server_close(1004), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_1005", server_close(1005), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_1006", server_close(1006), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_1015", server_close(1015), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_2999", server_close(2999), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_code_5000", server_close(5000), DecodeFault::close_code_invalid, 1002},
        BreachCase{"close_reason_not_utf8", server_close(1000, "\xff"), DecodeFault::invalid_utf8, 1007},
        BreachCase{"text_not_utf8", server_frame(0x81, "a\xc0\xaf"), DecodeFault::invalid_utf8, 1007},
        BreachCase{"text_ends_inside_a_character", server_frame(0x81, "a\xe2\x82"), DecodeFault::invalid_utf8, 1007},
        BreachCase{"fragments_end_inside_a_character", server_frame(0x01, "a") + server_frame(0x80, "\xe2\x82"),
                   DecodeFault::invalid_utf8, 1007},
        BreachCase{"bad_utf8_in_a_first_fragment", server_frame(0x01, "\xed\xa0\x80"), DecodeFault::invalid_utf8,
                   1007}),
    [](const auto& test) { return std::string{test.param.name}; });

TEST(FrameDecoder, RefusesBadUtf8AsSoonAsItCannotBecomeGood) {
    FrameDecoder decoder{{}};
    EventLog log;
    decoder.feed(bytes({0x01, 100, 'o', 'k', 0xf4, 0x90}), log);
    EXPECT_THAT(log.faults, ElementsAre(DecodeFault::invalid_utf8)) << "96 bytes of the fragment are still to come";
}

TEST(FrameDecoder, PassesACharacterSplitOverFragments) {
    const std::string stream = server_frame(0x01, "\xe2") + server_frame(0x00, "\x82") + server_frame(0x80, "\xac!");
    EXPECT_THAT(decode(stream), ElementsAre("text \xe2\x82\xac!"));
    EXPECT_EQ(decode_bytewise(stream), decode(stream));
}

TEST(FrameDecoder, KeepsControlFramesBetweenFragmentsApart) {
    const std::string stream = server_frame(0x02, "one ") + server_frame(0x89, "ping!") + server_frame(0x00, "") +
                               server_frame(0x8a, "") + server_frame(0x80, "two") + server_close(1001, "bye");
    const Events want{"ping ping!", "pong ", "binary one two", "close 1001 bye"};
    EXPECT_EQ(decode(stream), want);
    EXPECT_EQ(decode_bytewise(stream), want);
}

TEST(FrameDecoder, ReadsACloseWithoutACode) {
    EXPECT_THAT(decode(server_frame(0x88, "")), ElementsAre("close 1005 "));
}

TEST(FrameDecoder, IgnoresWhatFollowsAClose) {
    EXPECT_THAT(decode(server_close(1000) + server_frame(0x81, "late")), ElementsAre("close 1000 "));
}

TEST(FrameDecoder, NamesTheLimitAndTheSize) {
    const Events events = decode(server_frame(0x81, x(200)), {.frame_bytes_max = 150, .message_bytes_max = 1'000});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_THAT(events[0], HasSubstr("a frame of 200 bytes is over the limit of 150 bytes (frame_bytes_max)"));
}

TEST(FrameDecoder, TakesExactlyTheLimits) {
    const FrameLimits limits{.frame_bytes_max = 150, .message_bytes_max = 300};
    EXPECT_EQ(decode(server_frame(0x02, x(150)) + server_frame(0x80, x(150)), limits).front(), "binary " + x(300));
}

TEST(FrameDecoder, StopsAfterAMessageAndGoesOnWithTheRest) {
    const std::string stream = server_frame(0x81, "1") + server_frame(0x81, "2") + server_frame(0x89, "p");
    FrameDecoder decoder{{}};
    EventLog log{1};
    EXPECT_EQ(decoder.feed(stream, log), 3U);
    EXPECT_THAT(log.events, ElementsAre("text 1"));
    EXPECT_EQ(decoder.feed(std::string_view{stream}.substr(3), log), 3U);
    EXPECT_EQ(decoder.feed(std::string_view{stream}.substr(6), log), 3U);
    EXPECT_THAT(log.events, ElementsAre("text 1", "text 2", "ping p"));
}

TEST(FrameDecoder, HandsWholeMessagesOutInPlace) {
    struct Where final : FrameVisitor {
        bool on_message(std::string_view data, bool) override {
            at.push_back(data.data());
            return true;
        }

        void on_ping(std::string_view) override {}

        void on_pong(std::string_view) override {}

        void on_close(std::uint16_t, std::string_view) override {}

        void on_fault(DecodeFault, std::string_view) override {}

        std::vector<const char*> at;
    } where;

    const std::string stream = server_frame(0x81, "a") + server_frame(0x82, x(70'000));
    FrameDecoder decoder{{}};
    decoder.feed(stream, where);
    EXPECT_THAT(where.at, ElementsAre(stream.data() + 2, stream.data() + 13));
}

TEST(FrameDecoder, OwnsNothingBetweenMessages) {
    const std::size_t idle = FrameDecoder{{}}.owned_bytes();
    FrameDecoder decoder{{}};
    EventLog log;
    const std::string frame = server_frame(0x82, x(5'000));
    decoder.feed(std::string_view{frame}.substr(0, 4'000), log);
    EXPECT_GE(decoder.owned_bytes(), 3'900U);
    decoder.feed(std::string_view{frame}.substr(4'000), log);
    EXPECT_EQ(decoder.owned_bytes(), idle);
}

// A random stream of right and wrong frames.
std::string random_stream(Random& random) {
    static const std::vector<std::string> texts{"",
                                                "a",
                                                "h\xc3\xa9llo",
                                                "\xe2\x82\xac\xf0\x9f\x98\x80",
                                                x(125),
                                                x(126),
                                                std::string(300, '\xff'),
                                                x(700),
                                                "\xc3",
                                                "\xa9 ok",
                                                "\xf0\x9f"};
    static const std::string long_text = x(66'000);
    static const std::vector<unsigned> starts{0x81, 0x81, 0x81, 0x82, 0x82, 0x01, 0x01, 0x02, 0x00,
                                              0x00, 0x80, 0x80, 0x80, 0x89, 0x89, 0x8a, 0x88, 0xc1};
    std::string stream;
    const std::uint64_t frames = 1 + random.below(12);
    for (std::uint64_t i = 0; i < frames; ++i) {
        const unsigned start = starts[random.below(starts.size())];
        std::string text = random.below(100) == 0 ? long_text : texts[random.below(texts.size())];
        if ((start & 0x08U) != 0 && random.below(8) != 0) {
            text.resize(std::min<std::size_t>(text.size(), 125));
        }
        stream += server_frame(start, text);
        if (random.below(40) == 0) {
            stream.push_back(static_cast<char>(random.next()));
        }
    }
    return stream;
}

TEST(FrameDecoder, GivesTheSameEventsForEverySplit) {
    Random random{20'261'130};
    const FrameLimits limits{.frame_bytes_max = 70'000, .message_bytes_max = 70'500};
    std::size_t events = 0;
    for (int round = 0; round < 600; ++round) {
        const std::string stream = random_stream(random);
        const Events want = decode(stream, limits);
        events += want.size();
        const bool longer = stream.size() > 10'000;
        const std::uint64_t piece_max = 1 + random.below(longer ? 8'000 : random.below(2) == 0 ? 4 : 400);
        const std::size_t stop_every = random.below(4);
        ASSERT_EQ(decode_in_pieces(stream, limits, stop_every, [&] { return 1 + random.below(piece_max); }), want)
            << "round " << round;
    }
    EXPECT_GT(events, 600U);
}

}  // namespace
}  // namespace longhold::upstream
