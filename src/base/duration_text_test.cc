// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/duration_text.h>

namespace longhold {
namespace {

using namespace std::chrono_literals;

struct DurationCase {
    std::string_view text;
    Duration want;
};

TEST(DurationText, ReadsWhatPeopleWrite) {
    for (const auto& [text, want] :
         {DurationCase{"0", 0s}, DurationCase{"6s", 6s}, DurationCase{"200ms", 200ms}, DurationCase{"1m30s", 90s},
          DurationCase{"1.5s", 1500ms}, DurationCase{"2h", 2h}, DurationCase{"7us", 7us}, DurationCase{"1d", 24h},
          DurationCase{"818888888888888888ns888888ns", 818888888889777776ns}}) {
        const auto got = parse_duration(text);
        ASSERT_TRUE(got.has_value()) << text << ": " << got.error();
        EXPECT_EQ(*got, want) << text;
    }
}

TEST(DurationText, SaysWhatIsWrong) {
    for (const std::string_view text : {"", "5", "s", "-1s", "5 s", "5x", "1e3s", "99999d", "99999999999999999999s",
                                        "9999d9999d", "1.s", "6s ", "nan"}) {
        const auto got = parse_duration(text);
        ASSERT_FALSE(got.has_value()) << text;
        EXPECT_NE(got.error().find("is no duration"), std::string::npos) << text;
    }
}

TEST(DurationText, FormatsWhatItReadsBack) {
    for (const Duration duration :
         {Duration{0s}, Duration{6s}, Duration{90s}, Duration{1500ms}, Duration{1ns}, Duration{25h}}) {
        EXPECT_EQ(parse_duration(format_duration(duration)), duration);
    }
    EXPECT_EQ(format_duration(90s), "1m30s");
}

}  // namespace
}  // namespace longhold
