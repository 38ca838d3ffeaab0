// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/wall_time_text.h>

namespace longhold {
namespace {

using std::chrono::microseconds;

TEST(WallTimeText, WritesMicrosecondsInUtc) {
    EXPECT_EQ(format_rfc3339(WallTime{microseconds{0}}), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(format_rfc3339(WallTime{microseconds{1'796'025'600'123'456}}), "2026-11-30T08:00:00.123456Z");
}

TEST(WallTimeText, ReadsBackWhatItWrites) {
    const WallTime time{microseconds{1'709'164'799'999'999}};
    EXPECT_EQ(parse_rfc3339(format_rfc3339(time)), time);
    EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01Z"), WallTime{microseconds{1'000'000}});
    EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z"), WallTime{microseconds{1'500'000}});
}

TEST(WallTimeText, RefusesOtherTexts) {
    for (const std::string_view text : {"", "2026-11-30", "2026-13-30T08:00:00Z", "2026-02-30T08:00:00Z",
                                        "2026-11-30T25:00:00Z", "2026-11-30T08:00:00.Z", "2026-11-30T08:00:00+01"}) {
        EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace longhold
