// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/notes.h>

namespace longhold::core {
namespace {

TEST(Note, NamesTheEndsOfAGapThatAreKnown) {
    EXPECT_EQ(gap_note(NoteReason::sequence_hole, 2, "8", "11").members,
              R"("reason":"sequence_hole","from":"8","to":"11")");
    EXPECT_EQ(gap_note(NoteReason::no_replay, 1, "8", std::nullopt).members, R"("reason":"no_replay","from":"8")");
    EXPECT_EQ(gap_note(NoteReason::no_cursor, 1, std::nullopt, "11").members, R"("reason":"no_cursor","to":"11")");
    EXPECT_EQ(gap_note(NoteReason::dropped, 1, std::nullopt, std::nullopt).members, R"("reason":"dropped")");
    EXPECT_EQ(gap_note(NoteReason::unacked, 1, "a\"b", std::nullopt).members, R"("reason":"unacked","from":"a\"b")");
}

TEST(Note, OfAClaimNamesItsResumePoint) {
    EXPECT_EQ(claimed_note(1, std::nullopt).members, R"("reason":"claimed","resume":null)");
    const Cursor cursor{.sequence_id = 4, .epoch = Epoch{2}, .ordinal = 9, .stream = 3, .value = "7\\"};
    const auto note = claimed_note(3, cursor);
    EXPECT_EQ(note.members, R"("reason":"claimed","resume":{"epoch":2,"ordinal":9,"stream":3,"value":"7\\"})");
    EXPECT_EQ(note.kind, NoteKind::state);
    EXPECT_EQ(note.stream, 3U);
}

TEST(Note, OfStateHasItsReason) {
    EXPECT_EQ(state_note(NoteReason::sequence_restart, 2).members, R"("reason":"sequence_restart")");
    EXPECT_EQ(state_note(NoteReason::spec_change, 2).members, R"("reason":"spec_change")");
}

}  // namespace
}  // namespace longhold::core
