// SPDX-License-Identifier: Apache-2.0
#include "shared_profiles.h"

#include <gtest/gtest.h>

#include <string>

namespace longhold::worker {
namespace {

config::Profile with_header(const std::string& value) {
    config::Profile profile;
    profile.headers = {{"X-Key", value}};
    return profile;
}

TEST(SharedProfiles, KeepOneCopyOfEqualProfiles) {
    SharedProfiles profiles;
    const auto first = profiles.share(with_header("a"));
    EXPECT_EQ(profiles.share(with_header("a")), first);
    EXPECT_NE(profiles.share(with_header("b")), first);
    EXPECT_EQ(*first, with_header("a"));
}

TEST(SharedProfiles, ForgetWhatNobodyHasAnyMore) {
    SharedProfiles profiles;
    const auto kept = profiles.share(with_header("kept"));
    for (int i = 0; i < 1'000; ++i) {
        static_cast<void>(profiles.share(with_header(std::to_string(i))));
    }
    EXPECT_LE(profiles.size(), 17U);
    EXPECT_EQ(profiles.share(with_header("kept")), kept);
}

}  // namespace
}  // namespace longhold::worker
