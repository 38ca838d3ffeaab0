// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/upstream/sequence_reader.h>

#include <string>

namespace longhold::upstream {
namespace {

struct ReadCase {
    std::string_view name, message, pointer, want;
    bool is_text = false;
};

class SequenceRead : public testing::TestWithParam<ReadCase> {};

TEST_P(SequenceRead, FindsTheValue) {
    SequenceReader reader;
    const auto value = reader.read(GetParam().message, std::string{GetParam().pointer});
    EXPECT_EQ(value.text, GetParam().want);
    EXPECT_EQ(value.is_text, GetParam().is_text);
}

INSTANTIATE_TEST_SUITE_P(Table, SequenceRead,
                         testing::Values(ReadCase{"number", R"({"seq":12})", "/seq", "12"},
                                         ReadCase{"number_before_more", R"({"seq": 12 ,"a":1})", "/seq", "12"},
                                         ReadCase{"number_at_the_end_of_an_array", R"([1,[2,3]])", "/1/1", "3"},
                                         ReadCase{"zero", R"({"seq":0})", "/seq", "0"},
                                         ReadCase{"number_beyond_64_bits", R"({"seq":123456789012345678901234567890})",
                                                  "/seq", "123456789012345678901234567890"},
                                         ReadCase{"number_as_it_is_written", R"({"seq":1.50e3})", "/seq", "1.50e3"},
                                         ReadCase{"text", R"({"seq":"a-1"})", "/seq", "a-1", true},
                                         ReadCase{"text_with_escapes", R"({"seq":"a\"é"})", "/seq", "a\"é", true},
                                         ReadCase{"empty_text", R"({"seq":""})", "/seq", "", true},
                                         ReadCase{"nested", R"({"a":{"b":[{"n":7}]}})", "/a/b/0/n", "7"},
                                         ReadCase{"escaped_pointer", R"({"a/b":{"c~d":9}})", "/a~1b/c~0d", "9"},
                                         ReadCase{"absent", R"({"seq":12})", "/other", ""},
                                         ReadCase{"null", R"({"seq":null})", "/seq", ""},
                                         ReadCase{"object", R"({"seq":{"n":1}})", "/seq", ""},
                                         ReadCase{"flag", R"({"seq":true})", "/seq", ""},
                                         ReadCase{"no_json", "hello", "/seq", ""},
                                         ReadCase{"empty_message", "", "/seq", ""},
                                         ReadCase{"cut_off_before_it", R"({"a":1,"se)", "/seq", ""}),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST(SequenceReader, IsUsedForManyMessagesOfAnySize) {
    SequenceReader reader;
    for (const std::size_t size : {10U, 100'000U, 10U, 1'000'000U}) {
        const std::string message = R"({"pad":")" + std::string(size, 'x') + R"(","seq":)" + std::to_string(size) + "}";
        EXPECT_EQ(reader.read(message, "/seq").text, std::to_string(size));
    }
}

}  // namespace
}  // namespace longhold::upstream
