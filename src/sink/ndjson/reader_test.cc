// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/sink/ndjson/reader.h>

#include "../test_support.h"
#include "line_reader.h"
#include "record_json.h"

namespace longhold::sink {
namespace {

constexpr std::string_view head = R"({"connection":"c","epoch":3,"ordinal":7,"stream":2,)";
constexpr std::string_view time_and = R"("received_at":"2026-11-30T08:00:00.123456Z",)";

std::string line(std::string_view rest) {
    return std::string{head} + std::string{time_and} + std::string{rest} + "\n";
}

class Reader : public testing::Test {
protected:
    std::unique_ptr<NdjsonReader> open() {
        auto reader = NdjsonReader::open(directory.path(), system_files());
        EXPECT_TRUE(reader.has_value());
        return *std::move(reader);
    }

    test::TempDirectory directory;
    ReadRecord record;
};

TEST_F(Reader, ReadsEveryMember) {
    directory.write("s.000001.ndjson", line(R"("seq":88123,"kind":"data","data":"a\"b"})") +
                                           line(R"("seq":"x1","kind":"data","data_base64":"AP8="})"));
    auto reader = open();
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.connection, ConnectionId{"c"});
    EXPECT_EQ(record.epoch, Epoch{3});
    EXPECT_EQ(record.ordinal, 7U);
    EXPECT_EQ(record.stream, 2U);
    EXPECT_EQ(record.kind, RecordKind::data);
    EXPECT_EQ(record.seq, "88123");
    EXPECT_FALSE(record.seq_is_text);
    EXPECT_FALSE(record.binary);
    EXPECT_EQ(record.data, "a\"b");
    EXPECT_EQ(format_rfc3339(record.received_at), "2026-11-30T08:00:00.123456Z");
    EXPECT_EQ(record.file, "s.000001.ndjson");
    EXPECT_EQ(record.line, 1U);
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.seq, "x1");
    EXPECT_TRUE(record.seq_is_text);
    EXPECT_TRUE(record.binary);
    EXPECT_EQ(record.data, "AP8=");
    EXPECT_EQ(record.line, 2U);
    EXPECT_FALSE(reader->next(record).value());
}

TEST_F(Reader, ReadsGapsAndStates) {
    directory.write("s.000001.ndjson",
                    line(R"("kind":"gap","reason":"sequence_hole","from":"12","to":15})") +
                        line(R"("kind":"state","reason":"claimed","resume":)"
                             R"({"epoch":2,"ordinal":1042,"stream":1,"value":"88123"}})") +
                        line(R"("kind":"state","reason":"claimed","resume":null})") +
                        line(R"("kind":"state","reason":"sequence_restart","later":{"member":[1,{}]}})"));
    auto reader = open();
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.kind, RecordKind::gap);
    EXPECT_EQ(record.reason, "sequence_hole");
    EXPECT_EQ(record.from, "12");
    EXPECT_EQ(record.to, "15");
    EXPECT_EQ(record.seq, "");
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.kind, RecordKind::state);
    EXPECT_TRUE(record.has_resume);
    EXPECT_EQ(record.resume,
              (core::Cursor{.sequence_id = 0, .epoch = Epoch{2}, .ordinal = 1042, .stream = 1, .value = "88123"}));
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_TRUE(record.has_resume);
    EXPECT_FALSE(record.resume.has_value());
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_FALSE(record.has_resume);
    EXPECT_EQ(record.reason, "sequence_restart");
}

TEST_F(Reader, KeepsTheDigitsOfANumberOfAnySize) {
    directory.write("s.000001.ndjson", line(R"("seq": 123456789012345678901234567890 ,"kind":"data","data":""})"));
    ASSERT_TRUE(open()->next(record).value());
    EXPECT_EQ(record.seq, "123456789012345678901234567890");
}

TEST_F(Reader, SkipsTornTailsAndCountsThem) {
    directory.write("a.000001.ndjson", line(R"("kind":"data","data":""})") + std::string{head});
    directory.write("b.000001.ndjson", line(R"("kind":"data","data":""})"));
    directory.write("c.000001.ndjson", "");
    auto reader = open();
    ASSERT_TRUE(reader->next(record).value());
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.file, "b.000001.ndjson");
    EXPECT_EQ(record.line, 1U);
    EXPECT_FALSE(reader->next(record).value());
    EXPECT_FALSE(reader->next(record).value());
    EXPECT_EQ(reader->torn_tails(), 1U);
}

TEST_F(Reader, AnErrorNamesFileAndLineAndReadingGoesOn) {
    directory.write("a.000001.ndjson",
                    line(R"("kind":"data","data":""})") + "{\"nonsense\n" + line(R"("kind":"data","data":"after"})"));
    auto reader = open();
    ASSERT_TRUE(reader->next(record).value());
    auto bad = reader->next(record);
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().code, Errc::invalid);
    EXPECT_THAT(bad.error().detail, testing::HasSubstr(directory.path() + "/a.000001.ndjson:2: "));
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.data, "after");
    EXPECT_EQ(record.line, 3U);
}

TEST_F(Reader, ADirectoryThatIsNotThereIsNamed) {
    auto reader = NdjsonReader::open(directory.path() + "/none", system_files());
    ASSERT_FALSE(reader.has_value());
    EXPECT_EQ(reader.error().code, Errc::unavailable);
    EXPECT_THAT(reader.error().detail, testing::HasSubstr(directory.path() + "/none"));
}

TEST_F(Reader, ReadsLinesLongerThanItsBuffer) {
    const std::string big(3'000'000, 'x');
    directory.write("s.000001.ndjson",
                    line(R"("kind":"data","data":")" + big + "\"}") + line(R"("kind":"data","data":"small"})"));
    auto reader = open();
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.data, big);
    ASSERT_TRUE(reader->next(record).value());
    EXPECT_EQ(record.data, "small");
    EXPECT_FALSE(reader->next(record).value());
}

struct BadLine {
    std::string_view name, text, want;
};

class RecordParserRefuses : public testing::TestWithParam<BadLine> {};

TEST_P(RecordParserRefuses, TheLine) {
    std::string text{GetParam().text};
    text.append(LineReader::padding, '\0');
    RecordParser parser;
    ReadRecord record;
    const auto parsed = parser.parse(std::string_view{text}.substr(0, GetParam().text.size()), record);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RecordParserRefuses,
    testing::Values(
        BadLine{"empty", "", "is not JSON"}, BadLine{"text", "hello", "is not a JSON object"},
        BadLine{"array", "[1]", "is not a JSON object"}, BadLine{"number", "1", "is not a JSON object"},
        BadLine{"torn", R"({"connection":"c","epoch":1)", "is not a JSON object"},
        BadLine{"no_connection", R"({"epoch":1})", "has no 'connection'"},
        BadLine{"epoch_is_text", R"({"epoch":"1"})", "has a 'epoch' that is not a whole number in its range"},
        BadLine{"stream_too_big", R"({"stream":4294967296})", "has a 'stream' that is not a whole number in its range"},
        BadLine{"kind", R"({"kind":"other"})", "has a 'kind' that is none of data, gap, state"},
        BadLine{"time", R"({"received_at":"today"})",
                "has a 'received_at' that is no time as 2026-11-30T08:00:00.123456Z"},
        BadLine{"seq", R"({"seq":{}})", "has a 'seq' that is neither a string nor a number"},
        BadLine{"seq_number", R"({"seq":01})", "has a 'seq' that is neither a string nor a number"},
        BadLine{"resume", R"({"resume":3})", "has a 'resume' that is neither an object nor null"},
        BadLine{"two_objects",
                R"({"connection":"c","epoch":3,"ordinal":7,"stream":2,"received_at":"2026-11-30T08:00:00.123456Z",)"
                R"("kind":"data","data":""}{"connection":"c"})",
                "goes on behind the record's end"}),
    [](const auto& test) { return std::string{test.param.name}; });

}  // namespace
}  // namespace longhold::sink
