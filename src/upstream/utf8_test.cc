// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/upstream/utf8.h>

#include <string>

namespace longhold::upstream {
namespace {

bool valid_in_pieces(std::string_view text, std::size_t piece) {
    Utf8Validator validator;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        if (!validator.feed(text.substr(at, piece))) {
            return false;
        }
    }
    return validator.complete();
}

// Every sequence of one to three bytes from values at and beside the borders of the encoding's ranges, and four-byte
// ones from a smaller set.
TEST(Utf8Validator, AgreesWithTheWholeTextValidatorOnAllBorderSequences) {
    const std::string borders = "\x41\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xe0\xed\xef\xf0\xf4\xf5";
    std::size_t valid = 0;
    for (const char a : borders) {
        for (const char b : borders) {
            for (const char c : borders) {
                for (const char d : borders) {
                    const std::string text{'x', a, b, c, d};
                    const bool want = valid_utf8(text);
                    valid += want ? 1 : 0;
                    ASSERT_EQ(valid_in_pieces(text, 1), want);
                    ASSERT_EQ(valid_in_pieces(text, 2), want);
                    ASSERT_EQ(valid_in_pieces(text, 3), want);
                }
            }
        }
    }
    EXPECT_GT(valid, 100U);
}

TEST(Utf8Validator, FailsAtTheFirstByteThatCannotBelong) {
    Utf8Validator validator;
    EXPECT_TRUE(validator.feed("ok \xed"));
    EXPECT_FALSE(validator.feed("\xa0")) << "the start of a surrogate";
}

}  // namespace
}  // namespace longhold::upstream
