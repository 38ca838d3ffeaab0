// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/hash.h>

#include <map>
#include <string>

namespace longhold {
namespace {

TEST(StableHash, NeverChangesForAnExistingFleet) {
    EXPECT_EQ(stable_hash(""), 0xefd01f60ba992926ULL);
    EXPECT_EQ(stable_hash("btc-usd"), stable_hash("btc-usd"));
    EXPECT_NE(stable_hash("btc-usd"), stable_hash("btc-usd", 1));
}

TEST(StableHash, SpreadsNearlyEqualNamesOverBuckets) {
    std::map<std::uint64_t, int> buckets;
    for (int i = 0; i < 16'000; ++i) {
        ++buckets[stable_hash("connection-" + std::to_string(i)) % 16];
    }
    ASSERT_EQ(buckets.size(), 16U);
    for (const auto& [bucket, count] : buckets) {
        EXPECT_NEAR(count, 1'000, 200) << bucket;
    }
}

}  // namespace
}  // namespace longhold
