// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/core/intake.h>

#include <deque>

namespace longhold::core {
namespace {

using namespace std::chrono_literals;

constexpr IntakeLimits limits{.low = 40, .high = 100, .burst = 50};

TEST(Intake, PausesAtTheHighMarkAndGoesOnAtTheLowOne) {
    Intake intake{limits};
    EXPECT_EQ(intake.admit(99, Instant{1s}), Admission::admitted);
    EXPECT_FALSE(intake.paused());
    EXPECT_EQ(intake.admit(1, Instant{2s}), Admission::admitted_pause);
    EXPECT_EQ(intake.paused_since(), Instant{2s});
    EXPECT_EQ(intake.admit(10, Instant{3s}), Admission::admitted_pause);
    EXPECT_EQ(intake.paused_since(), Instant{2s});
    EXPECT_FALSE(intake.returned(69));
    EXPECT_EQ(intake.bytes(), 41U);
    EXPECT_EQ(intake.admit(1, Instant{4s}), Admission::admitted_pause) << "still paused between the marks";
    EXPECT_TRUE(intake.returned(2));
    EXPECT_FALSE(intake.paused());
    EXPECT_FALSE(intake.returned(1)) << "said once";
    EXPECT_EQ(intake.pauses(), 1U);
}

TEST(Intake, RefusesWhatWouldPassTheBoundAndCountsNothingOfIt) {
    Intake intake{limits};
    EXPECT_EQ(intake.admit(150, Instant{}), Admission::admitted_pause);
    EXPECT_EQ(intake.admit(1, Instant{}), Admission::refused);
    EXPECT_EQ(intake.admit(UINT64_MAX, Instant{}), Admission::refused);
    EXPECT_EQ(intake.bytes(), 150U);
    EXPECT_EQ(intake.refusals(), 2U);
    EXPECT_TRUE(intake.returned(150));
}

// A loop that reads one burst at a time and obeys is never refused, and never stuck.
TEST(Intake, HasRoomForACallerThatObeys) {
    Random random{3};
    Intake intake{limits};
    std::deque<std::uint64_t> in_sink;
    bool may_read = true;
    std::uint64_t received = 0;
    for (int step = 0; step < 20'000; ++step) {
        if (may_read && random.below(2) == 0) {
            for (auto left = 1 + random.below(limits.burst); left > 0;) {  // a read that has begun is taken whole
                const auto bytes = 1 + random.below(left);
                left -= bytes;
                const auto admission = intake.admit(bytes, Instant{});
                ASSERT_NE(admission, Admission::refused);
                ASSERT_LE(intake.bytes(), intake.bound());
                in_sink.push_back(bytes);
                received += bytes;
                may_read = may_read && admission == Admission::admitted;
            }
        } else if (!in_sink.empty()) {
            may_read = intake.returned(in_sink.front()) || may_read;
            in_sink.pop_front();
        }
        ASSERT_EQ(may_read, !intake.paused());
        ASSERT_TRUE(may_read || !in_sink.empty());
    }
    EXPECT_GT(received, 100'000U);
    EXPECT_GT(intake.pauses(), 100U);
}

}  // namespace
}  // namespace longhold::core
