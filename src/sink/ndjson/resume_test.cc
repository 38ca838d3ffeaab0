// SPDX-License-Identifier: Apache-2.0
#include "resume.h"

#include <gtest/gtest.h>

#include <map>

#include "../test_support.h"

namespace longhold::sink {
namespace {

// A line of a connection, with `rest` from "kind" or "seq" on.
std::string line(std::string_view connection, std::uint64_t epoch, std::uint64_t ordinal, std::uint32_t stream,
                 std::string_view rest) {
    return "{\"connection\":\"" + std::string{connection} + "\",\"epoch\":" + std::to_string(epoch) +
           ",\"ordinal\":" + std::to_string(ordinal) + ",\"stream\":" + std::to_string(stream) +
           ",\"received_at\":\"2026-11-30T08:00:00.123456Z\"," + std::string{rest} + "}\n";
}

std::string data(std::string_view connection, std::uint64_t epoch, std::uint64_t ordinal, std::uint32_t stream,
                 std::string_view seq) {
    return line(connection, epoch, ordinal, stream, "\"seq\":" + std::string{seq} + R"(,"kind":"data","data":"")");
}

class ResumePoints : public testing::Test {
protected:
    std::map<std::string, core::Cursor> scan(std::uint64_t bytes_max = resume_bytes_max) {
        auto scanned = scan_resume_points(files, directory.path(), SessionId{"s"}, bytes_max);
        EXPECT_TRUE(scanned.has_value()) << scanned.error().detail;
        last = *scanned;
        std::map<std::string, core::Cursor> cursors;
        for (const SinkCursor& found : scanned->cursors) {
            cursors[found.connection.text()] = found.cursor;
        }
        return cursors;
    }

    static core::Cursor cursor(std::uint64_t epoch, std::uint64_t ordinal, std::uint32_t stream, std::string value) {
        return {
            .sequence_id = 0, .epoch = Epoch{epoch}, .ordinal = ordinal, .stream = stream, .value = std::move(value)};
    }

    test::TempDirectory directory;
    test::FaultyFiles files;
    ResumeScan last;
};

TEST_F(ResumePoints, AreTheLastRecordsOverAllFilesOfTheSession) {
    directory.write("s.000001.ndjson", data("a", 1, 1, 1, "10") + data("b", 2, 1, 1, "70"));
    directory.write("s.000002.ndjson", data("a", 1, 2, 1, "11") + data("a", 1, 3, 1, "\"12x\""));
    directory.write("other.000001.ndjson", data("a", 9, 9, 9, "99"));
    auto cursors = scan();
    ASSERT_EQ(cursors.size(), 2U);
    EXPECT_EQ(cursors["a"], cursor(1, 3, 1, "12x"));
    EXPECT_EQ(cursors["b"], cursor(2, 1, 1, "70"));
    EXPECT_TRUE(last.whole);
    EXPECT_EQ(last.lines, 4U);
}

TEST_F(ResumePoints, ARecordWithoutASequenceMovesTheOrdinalButNotTheValue) {
    directory.write("s.000001.ndjson", data("a", 1, 1, 1, "10") +
                                           line("a", 1, 2, 1, R"("kind":"gap","reason":"sequence_hole")") +
                                           line("a", 1, 3, 1, R"("kind":"data","data":"")"));
    EXPECT_EQ(scan()["a"], cursor(1, 3, 1, "10"));
}

TEST_F(ResumePoints, AnEpochWithNothingInItYetGoesOnFromItsOwnResumePoint) {
    directory.write(
        "s.000001.ndjson",
        data("a", 1, 5, 1, "10") +
            line(
                "a", 4, 1, 1,
                R"("kind":"state","reason":"claimed","resume":{"epoch":3,"ordinal":1042,"stream":1,"value":"88123"})"));
    EXPECT_EQ(scan()["a"], cursor(4, 1, 1, "88123"));
}

TEST_F(ResumePoints, AnEpochThatResumesFromNowhereHasNoValue) {
    directory.write("s.000001.ndjson", data("a", 1, 5, 1, "10") +
                                           line("a", 4, 1, 2, R"("kind":"state","reason":"claimed","resume":null)"));
    EXPECT_EQ(scan()["a"], cursor(4, 1, 2, ""));
}

TEST_F(ResumePoints, ANewStreamDoesNotTakeTheValueOfTheOldOne) {
    directory.write(
        "s.000001.ndjson",
        line("a", 4, 1, 1,
             R"("kind":"state","reason":"claimed","resume":{"epoch":3,"ordinal":1042,"stream":1,"value":"88123"})") +
            data("a", 4, 2, 1, "88124") + line("a", 4, 3, 2, R"("kind":"state","reason":"sequence_restart")"));
    EXPECT_EQ(scan()["a"], cursor(4, 3, 2, ""));
    directory.write("s.000002.ndjson", data("a", 4, 4, 2, "1"));
    EXPECT_EQ(scan()["a"], cursor(4, 4, 2, "1"));
}

TEST_F(ResumePoints, RecordsThatWereWrittenTwiceCountOnce) {
    directory.write("s.000001.ndjson", data("a", 1, 1, 1, "10") + data("a", 1, 2, 1, "11") + data("a", 1, 3, 1, "12"));
    directory.write("s.000002.ndjson", data("a", 1, 2, 1, "11"));
    EXPECT_EQ(scan()["a"], cursor(1, 3, 1, "12"));
}

TEST_F(ResumePoints, SkipTornTailsAndBrokenLines) {
    directory.write("s.000001.ndjson",
                    data("a", 1, 1, 1, "10") + "garbage\n\n" + data("a", 1, 2, 1, "11") + R"({"connection":"a","epo)");
    EXPECT_EQ(scan()["a"], cursor(1, 2, 1, "11"));
    EXPECT_EQ(last.bad_lines, 2U);
}

TEST_F(ResumePoints, LookAtABoundedPartAndLeaveOutWhatItDoesNotSay) {
    std::string text =
        line("quiet", 1, 1, 1, R"("kind":"state","reason":"claimed","resume":null)") + data("quiet", 1, 2, 1, "5");
    for (std::uint64_t n = 1; n <= 100; ++n) {
        text += data("busy", 1, n, 1, std::to_string(n));
    }
    text += line("quiet", 1, 3, 1, R"("kind":"gap","reason":"sequence_hole")");
    directory.write("s.000001.ndjson", text);
    EXPECT_EQ(scan()["quiet"], cursor(1, 3, 1, "5"));
    auto cursors = scan(1000);
    EXPECT_FALSE(last.whole);
    EXPECT_EQ(cursors["busy"], cursor(1, 100, 1, "100"));
    EXPECT_FALSE(cursors.contains("quiet"));
    // A bound that falls between two lines takes the whole of the second.
    const std::string tail = line("quiet", 1, 3, 1, R"("kind":"gap","reason":"sequence_hole")");
    EXPECT_TRUE(scan(tail.size() + data("busy", 1, 100, 1, "100").size()).contains("busy"));
    EXPECT_EQ(last.lines, 2U);
}

TEST_F(ResumePoints, TakeTheBoundOverAllFilesFromTheNewest) {
    const std::string newest = data("new", 1, 1, 1, "2");
    directory.write("s.000001.ndjson", data("old", 1, 1, 1, "1"));
    directory.write("s.000002.ndjson", newest);
    auto cursors = scan(newest.size());
    EXPECT_TRUE(cursors.contains("new"));
    EXPECT_FALSE(cursors.contains("old"));
    EXPECT_FALSE(last.whole);
}

TEST_F(ResumePoints, AreDurableBeforeTheyAreTold) {
    directory.write("s.000001.ndjson", data("a", 1, 1, 1, "10"));
    directory.write("s.000002.ndjson", data("a", 1, 2, 1, "11"));
    EXPECT_EQ(scan().size(), 1U);
    EXPECT_EQ(files.syncs, 2);
    files.failing_syncs = 1;
    const auto scanned = scan_resume_points(files, directory.path(), SessionId{"s"});
    ASSERT_FALSE(scanned.has_value());
    EXPECT_EQ(scanned.error().code, Errc::unavailable);
    EXPECT_NE(scanned.error().detail.find("s.000002.ndjson"), std::string::npos);
}

TEST_F(ResumePoints, AreNoneForASessionWithoutFiles) {
    directory.write("other.000001.ndjson", data("a", 9, 9, 9, "99"));
    EXPECT_TRUE(scan().empty());
    EXPECT_TRUE(last.whole);
}

}  // namespace
}  // namespace longhold::sink
