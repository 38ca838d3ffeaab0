// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/core/sequencer.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace longhold::core {
namespace {

// A history is told in words, and what the sequencer made of it is compared as one text:
//   "open"        a socket that was asked to resume from resume_value()
//   "open ?"      a socket that was asked for nothing
//   "open 7"      a socket that was asked to resume from 7
//   "7"           a message of that value; "-" one without
// The outcome: 1:7 (value 7 delivered in stream 1), 1:- (without), =1:7 (redelivered), drop, reconnect(6)
// (with what is asked for then), gap1(reason,from,to), state2(reason).
struct Case {
    std::string_view name;
    SequenceRule rule;
    SequencerStart start;
    std::vector<std::string_view> history;
    std::string_view want;
};

void PrintTo(const Case& test, std::ostream* out) {
    *out << test.name;
}

void append(std::string& out, const std::vector<Note>& notes) {
    for (const auto& note : notes) {
        if (note.reason == NoteReason::claimed) {
            continue;
        }
        out += note.kind == NoteKind::gap ? "gap" : "state";
        out += std::to_string(note.stream) + "(" + std::string{text(note.reason)};
        for (const std::string name : {"from", "to"}) {
            const auto at = note.members.find("\"" + name + "\":\"");
            if (note.kind == NoteKind::gap) {
                out += ",";
            }
            if (at != std::string::npos) {
                const auto begin = at + name.size() + 4;
                out += note.members.substr(begin, note.members.find('"', begin) - begin);
            }
        }
        out += ") ";
    }
}

std::string told(const Case& test) {
    Sequencer sequencer{test.rule, test.start};
    std::string out;
    append(out, sequencer.begin());
    for (const auto word : test.history) {
        if (word.starts_with("open")) {
            const auto own = sequencer.resume_value();
            auto asked = own ? std::optional<std::string_view>{*own} : std::nullopt;
            if (word.size() > 5) {
                asked = word[5] == '?' ? std::nullopt : std::optional{word.substr(5)};
            }
            append(out, sequencer.opened(asked));
            continue;
        }
        const auto decision = sequencer.on_message(word == "-" ? std::string_view{} : word);
        append(out, decision.notes);
        if (decision.action == Action::drop) {
            out += "drop ";
        } else if (decision.action == Action::reconnect) {
            out += "reconnect(" + sequencer.resume_value().value_or("nothing") + ") ";
        } else {
            out += decision.redelivered ? "=" : "";
            out += std::to_string(decision.stream) + ":" + std::string{decision.with_seq ? word : "-"} + " ";
        }
    }
    if (!out.empty()) {
        out.pop_back();
    }
    return out;
}

SequencerStart after(std::string value, std::uint32_t stream = 1) {
    return {.resume_point = Cursor{.epoch = Epoch{1}, .ordinal = 9, .stream = stream, .value = std::move(value)},
            .held_before = true};
}

SequencerStart after_spec_change(std::string value) {
    auto start = after(std::move(value));
    start.spec_changed = true;
    return start;
}

const SequencerStart never{};
const SequencerStart without_cursor{.resume_point = std::nullopt, .held_before = true};
const SequenceRule plain{};
const SequenceRule live{.has_sequence = true};
const SequenceRule live_from_1{.has_sequence = true, .first = 1};
const SequenceRule exclusive{.has_sequence = true, .first = std::nullopt, .resume = Resume::exclusive};
const SequenceRule exclusive_from_1{.has_sequence = true, .first = 1, .resume = Resume::exclusive};
const SequenceRule exclusive_from_0{.has_sequence = true, .first = 0, .resume = Resume::exclusive};
const SequenceRule inclusive{.has_sequence = true, .first = std::nullopt, .resume = Resume::inclusive};
const SequenceRule inclusive_from_0{.has_sequence = true, .first = 0, .resume = Resume::inclusive};
const SequenceRule inclusive_from_1{.has_sequence = true, .first = 1, .resume = Resume::inclusive};

const SequenceRule rising{.has_sequence = true, .first = std::nullopt, .resume = Resume::inclusive, .by_one = false};
const SequenceRule rising_live{.has_sequence = true, .first = std::nullopt, .resume = Resume::none, .by_one = false};

class SequencerTable : public testing::TestWithParam<Case> {};

TEST_P(SequencerTable, Holds) {
    EXPECT_EQ(told(GetParam()), GetParam().want);
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
    return std::string{test.param.name};
}

INSTANTIATE_TEST_SUITE_P(
    OneSocket, SequencerTable,
    testing::Values(
        Case{"first_start_has_no_gap", exclusive_from_1, never, {"open", "500", "501"}, "1:500 1:501"},
        Case{"hole", exclusive, never, {"open", "7", "12", "13"}, "1:7 gap1(sequence_hole,8,11) 1:12 1:13"},
        Case{"hole_of_one", exclusive, never, {"open", "7", "9"}, "1:7 gap1(sequence_hole,8,8) 1:9"},
        Case{"same_again", exclusive, never, {"open", "7", "7", "8"}, "1:7 =1:7 1:8"},
        Case{"restart_at_first",
             exclusive_from_1,
             never,
             {"open", "7", "1", "2"},
             "1:7 state2(sequence_restart) 2:1 2:2"},
        Case{"restart_at_one_when_first_is_unknown",
             exclusive,
             never,
             {"open", "7", "1"},
             "1:7 state2(sequence_restart) 2:1"},
        Case{"restart_beyond_one_when_first_is_unknown",
             exclusive,
             never,
             {"open", "7", "4"},
             "1:7 state2(sequence_restart) gap2(sequence_restart,,3) 2:4"},
        Case{"restart_beyond_first_without_replay",
             live_from_1,
             never,
             {"open", "7", "4"},
             "1:7 state2(sequence_restart) gap2(sequence_restart,1,3) 2:4"},
        Case{"numbers_compare_as_numbers", exclusive, never, {"open", "9", "10"}, "1:9 1:10"},
        Case{"numbers_up_to_64_bits",
             exclusive,
             never,
             {"open", "18446744073709551614", "18446744073709551615"},
             "1:18446744073709551614 1:18446744073709551615"},
        Case{"the_last_number_of_all_and_a_restart",
             exclusive,
             never,
             {"open", "18446744073709551615", "0"},
             "1:18446744073709551615 state2(sequence_restart) 2:0"},
        Case{"beyond_64_bits_is_opaque",
             exclusive,
             never,
             {"open", "18446744073709551616", "5", "6"},
             "1:18446744073709551616 1:5 1:6"},
        Case{"missing_value", exclusive, never, {"open", "7", "-", "8"}, "1:7 1:- 1:8"},
        Case{"opaque_values_have_no_order", exclusive, never, {"open", "b", "a", "a", "z"}, "1:b 1:a 1:a 1:z"},
        Case{"no_sequence", plain, never, {"open", "7", "-", "1"}, "1:- 1:- 1:-"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Exclusive, SequencerTable,
    testing::Values(
        Case{"goes_on", exclusive, after("7"), {"open", "8", "open", "9"}, "1:8 1:9"},
        Case{"hole", exclusive, after("7"), {"open", "10"}, "gap1(sequence_hole,8,9) 1:10"},
        Case{"restart_at_the_cursor_itself",
             exclusive,
             after("1"),
             {"open", "1"},
             "gap1(sequence_restart,2,) state2(sequence_restart) 2:1"},
        Case{"restart_below",
             exclusive_from_1,
             after("7", 3),
             {"open", "1", "2"},
             "gap3(sequence_restart,8,) state4(sequence_restart) 4:1 4:2"},
        Case{"restart_missed_its_beginning",
             exclusive_from_1,
             after("7"),
             {"open", "4", "open", "1", "2"},
             "gap1(sequence_restart,8,) state2(sequence_restart) reconnect(0) 2:1 2:2"},
        Case{"restart_on_the_same_socket_missed_its_beginning",
             exclusive_from_1,
             never,
             {"open", "7", "4", "open", "1"},
             "1:7 state2(sequence_restart) reconnect(0) 2:1"},
        Case{"the_replay_has_a_hole",
             exclusive_from_1,
             after("7"),
             {"open", "4", "open", "3", "4"},
             "gap1(sequence_restart,8,) state2(sequence_restart) reconnect(0) gap2(sequence_hole,1,2) 2:3 2:4"},
        Case{"a_replay_asks_for_no_other_replay",
             exclusive_from_1,
             after("9"),
             {"open", "8", "open", "4", "2"},
             "gap1(sequence_restart,10,) state2(sequence_restart) reconnect(0) gap2(sequence_hole,1,3) 2:4 "
             "state3(sequence_restart) gap3(sequence_restart,1,1) 3:2"},
        Case{"no_cursor_comes_before_zero",
             exclusive_from_0,
             after("7"),
             {"open", "4"},
             "gap1(sequence_restart,8,) state2(sequence_restart) gap2(sequence_restart,0,3) 2:4"},
        Case{"a_number_below_first", exclusive_from_1, after("", 2), {"open", "0", "1"}, "2:0 2:1"},
        Case{"crash_during_a_replay", exclusive_from_1, after("", 2), {"open", "1"}, "2:1"},
        Case{"crash_during_a_replay_that_has_a_hole",
             exclusive_from_1,
             after("", 2),
             {"open", "3"},
             "gap2(sequence_hole,1,2) 2:3"},
        Case{"crash_before_anything_was_durable", exclusive_from_1, after(""), {"open", "9"}, "gap1(no_cursor,,8) 1:9"},
        Case{
            "crash_before_the_first_cursor", exclusive_from_1, without_cursor, {"open", "9"}, "gap1(no_cursor,,8) 1:9"},
        Case{"nothing_came_before_the_first", exclusive_from_1, without_cursor, {"open", "1"}, "1:1"},
        Case{"rewound_to_an_earlier_cursor",
             exclusive,
             never,
             {"open", "5", "6", "7", "open 5", "6", "7", "8"},
             "1:5 1:6 1:7 =1:6 =1:7 1:8"},
        Case{"the_cursor_was_refused", exclusive, after("7"), {"open ?", "12"}, "gap1(no_replay,8,11) 1:12"},
        Case{"the_first_start_was_told_where", exclusive, never, {"open 7", "8"}, "1:8"},
        Case{"the_first_start_was_told_where_and_missed",
             exclusive,
             never,
             {"open 7", "10"},
             "gap1(sequence_hole,8,9) 1:10"},
        Case{"opaque", exclusive, after("b"), {"open", "b", "a"}, "1:b 1:a"},
        Case{
            "two_sockets_before_the_first_message", exclusive, never, {"open", "open", "5"}, "gap1(no_cursor,,4) 1:5"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Inclusive, SequencerTable,
    testing::Values(
        Case{"first_message_is_the_cursor", inclusive, after("7"), {"open", "7", "8"}, "drop 1:8"},
        Case{"only_the_first_one_is_known", inclusive, after("7"), {"open", "7", "7", "8"}, "drop =1:7 1:8"},
        Case{"a_message_without_value_comes_first", inclusive, after("7"), {"open", "-", "7", "8"}, "1:- drop 1:8"},
        Case{"cursor_is_not_repeated", inclusive, after("7"), {"open", "8"}, "1:8"},
        Case{"hole", inclusive, after("7"), {"open", "10"}, "gap1(sequence_hole,8,9) 1:10"},
        Case{"restart", inclusive, after("7"), {"open", "1"}, "gap1(sequence_restart,8,) state2(sequence_restart) 2:1"},
        Case{"restart_missed_its_beginning",
             inclusive_from_1,
             after("7"),
             {"open", "4", "open", "1", "2"},
             "gap1(sequence_restart,8,) state2(sequence_restart) reconnect(1) 2:1 2:2"},
        Case{"restart_from_zero_missed_its_beginning",
             inclusive_from_0,
             after("7"),
             {"open", "4", "open", "0", "1"},
             "gap1(sequence_restart,8,) state2(sequence_restart) reconnect(0) 2:0 2:1"},
        Case{"on_each_socket", inclusive, never, {"open", "7", "open", "7", "8", "open", "8"}, "1:7 drop 1:8 drop"},
        Case{"opaque_cursor_is_repeated", inclusive, after("b"), {"open", "b", "b"}, "drop 1:b"},
        Case{"opaque_cursor_is_not_repeated", inclusive, after("b"), {"open", "a", "b"}, "1:a 1:b"},
        Case{"told_where_to_begin", inclusive, never, {"open 7", "7"}, "1:7"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    NoReplay, SequencerTable,
    testing::Values(
        Case{"no_sequence", plain, never, {"open", "-", "open", "-"}, "1:- gap1(no_replay,,) 1:-"},
        Case{"no_sequence_and_an_owner_before", plain, without_cursor, {"open", "-"}, "gap1(no_replay,,) 1:-"},
        Case{"no_sequence_and_a_cursor_before", plain, after("", 3), {"open", "-"}, "gap3(no_replay,,) 3:-"},
        Case{"nothing_was_missed", live, never, {"open", "7", "open", "8"}, "1:7 1:8"},
        Case{"something_was_missed", live, never, {"open", "7", "open", "12"}, "1:7 gap1(no_replay,8,11) 1:12"},
        Case{"across_owners", live, after("7"), {"open", "12"}, "gap1(no_replay,8,11) 1:12"},
        Case{"across_owners_nothing_missed", live, after("7"), {"open", "8"}, "1:8"},
        Case{"across_owners_place_unknown", live, without_cursor, {"open", "12"}, "gap1(no_replay,,11) 1:12"},
        Case{"the_same_number_may_be_another_message",
             live,
             never,
             {"open", "7", "open", "7"},
             "1:7 gap1(sequence_restart,8,) state2(sequence_restart) gap2(sequence_restart,,6) 2:7"},
        Case{"restart",
             live_from_1,
             never,
             {"open", "7", "open", "1"},
             "1:7 gap1(sequence_restart,8,) state2(sequence_restart) 2:1"},
        Case{"first_message_without_value",
             live,
             never,
             {"open", "7", "open", "-", "8"},
             "1:7 gap1(no_replay,8,) 1:- 1:8"},
        Case{"opaque", live, never, {"open", "b", "open", "c"}, "1:b gap1(no_replay,b,) 1:c"},
        Case{"a_number_after_opaque", live, never, {"open", "b", "open", "7"}, "1:b gap1(no_replay,b,6) 1:7"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(SpecChange, SequencerTable,
                         testing::Values(Case{"begins_a_stream",
                                              exclusive,
                                              after_spec_change("7"),
                                              {"open", "3", "4", "open", "5"},
                                              "gap1(spec_change,8,) state2(spec_change) 2:3 2:4 2:5"},
                                         Case{"asks_for_nothing",
                                              inclusive_from_1,
                                              after_spec_change("7"),
                                              {"open", "7"},
                                              "gap1(spec_change,8,) state2(spec_change) 2:7"},
                                         Case{"without_sequence",
                                              plain,
                                              after_spec_change(""),
                                              {"open", "-"},
                                              "gap1(spec_change,,) state2(spec_change) 2:-"}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Rising, SequencerTable,
    testing::Values(
        Case{"holes_mean_nothing", rising, never, {"open", "7", "12", "open", "12", "30"}, "1:7 1:12 drop 1:30"},
        Case{"across_owners", rising, after("7"), {"open", "9"}, "1:9"},
        Case{"several_of_one_value", rising, never, {"open", "7", "7", "9"}, "1:7 =1:7 1:9"},
        Case{
            "restart", rising, never, {"open", "7", "3"}, "1:7 state2(sequence_restart) gap2(sequence_restart,,2) 2:3"},
        Case{"what_was_missed_cannot_be_told",
             rising_live,
             never,
             {"open", "7", "open", "12"},
             "1:7 gap1(no_replay,8,11) 1:12"}),
    name_of);

TEST(Sequencer, BeginsAnEpochByNamingItsResumePoint) {
    const auto start = after("7", 3);
    Sequencer sequencer{exclusive, start};
    EXPECT_EQ(sequencer.begin(), std::vector{claimed_note(3, start.resume_point)});
    EXPECT_EQ(sequencer.resume_value(), "7");
    EXPECT_EQ((Sequencer{exclusive, never}.begin()), std::vector{claimed_note(1, std::nullopt)});
}

TEST(Sequencer, CountsWhatItDecided) {
    Sequencer sequencer{inclusive_from_1, after("7")};
    (void)sequencer.opened("7");
    for (const auto* seq : {"7", "8", "8", "", "11", "4"}) {
        (void)sequencer.on_message(seq);
    }
    EXPECT_EQ(sequencer.counts(),
              (SequenceCounts{
                  .without_seq = 1, .redelivered = 1, .dropped = 1, .gaps = 1, .restarts = 1, .replays_asked = 1}));
}

TEST(Sequencer, AReplayThatIsOutOfOrderItselfIsNotAskedForAgain) {
    Sequencer sequencer{exclusive_from_1, after("9")};
    (void)sequencer.opened("9");
    EXPECT_EQ(sequencer.on_message("8").action, Action::reconnect);
    (void)sequencer.opened("0");
    for (int i = 1; i <= 200; ++i) {
        EXPECT_EQ(sequencer.on_message(std::to_string(i)).action, Action::deliver);
    }
    const auto again = sequencer.on_message("50");
    EXPECT_EQ(again.action, Action::deliver)
        << "an upstream that sends the same pair at each replay is not dialled for ever";
    EXPECT_TRUE(std::ranges::any_of(again.notes, [](const Note& note) { return note.kind == NoteKind::gap; }));
}

TEST(SequenceIdentity, IsTheUrlAndTheField) {
    const SequenceIdentity spec{.url = "wss://feed.example/ws?symbol=a", .sequence_field = "/seq"};
    EXPECT_EQ(sequence_id(spec), sequence_id(spec));
    EXPECT_NE(sequence_id(spec), sequence_id({.url = "wss://feed.example/ws?symbol=b", .sequence_field = "/seq"}));
    EXPECT_NE(sequence_id(spec), sequence_id({.url = spec.url, .sequence_field = "/n"}));
}

}  // namespace
}  // namespace longhold::core
