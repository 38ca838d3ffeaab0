// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/hmac.h>

namespace longhold::runtime {
namespace {

// RFC 4231, test cases 2 and 6.
TEST(Hmac, GivesTheDigestsOfTheStandard) {
    EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, ComparesWholeTexts) {
    EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
    EXPECT_TRUE(equal_in_constant_time("", ""));
}

}  // namespace
}  // namespace longhold::runtime
