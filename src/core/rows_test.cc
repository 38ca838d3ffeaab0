// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/rows.h>

namespace longhold::core {
namespace {

TEST(Owner, TellsSessionsFromBuckets) {
    EXPECT_TRUE(Owner::session(SessionId{"s1"}).is(SessionId{"s1"}));
    EXPECT_FALSE(Owner::nobody(DesiredState::started, 7).is_session());
    EXPECT_EQ(Owner::nobody(DesiredState::started, 7).text(), "none#07");
    EXPECT_EQ(Owner::nobody(DesiredState::deleted, 12).text(), "off#12");
    EXPECT_TRUE(Owner{}.session_id().empty());
}

TEST(Cursor, IsOrderedByEpochAndOrdinalNeverByValue) {
    const Cursor older{.epoch = Epoch{1}, .ordinal = 900, .stream = 1, .value = "900"};
    const Cursor newer{.epoch = Epoch{2}, .ordinal = 1, .stream = 2, .value = "1"};
    EXPECT_TRUE(further(newer, older));
    EXPECT_FALSE(further(older, newer));
    EXPECT_FALSE(further(older, older));
    EXPECT_TRUE(further(std::optional{older}, std::nullopt));
    EXPECT_FALSE(further(std::nullopt, std::optional{older}));
}

TEST(States, AreReadBackFromTheirText) {
    EXPECT_EQ(session_state(text(SessionState::fenced)), SessionState::fenced);
    EXPECT_EQ(desired_state(text(DesiredState::stopped)), DesiredState::stopped);
    EXPECT_EQ(desired_state("started"), std::nullopt);
}

}  // namespace
}  // namespace longhold::core
