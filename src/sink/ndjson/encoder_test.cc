// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/sink/ndjson/encoder.h>

#include "line_reader.h"
#include "record_json.h"

namespace longhold::sink {
namespace {

const Origin origin{.connection = ConnectionId{"btc-usd"}, .epoch = Epoch{3}};

RecordHeader header_of(RecordKind kind) {
    RecordHeader header;
    header.origin = &origin;
    header.ordinal = 1042;
    header.stream = 1;
    header.received_at = *parse_rfc3339("2026-11-30T08:00:00.123456Z");
    header.kind = kind;
    return header;
}

std::string encoded(const RecordBatch& batch) {
    Encoder encoder;
    std::string text;
    encoder.append(text, batch);
    return text;
}

std::string line_of(RecordHeader header, std::string_view seq, std::string_view body) {
    RecordBatch batch;
    batch.append(header, seq, body);
    return encoded(batch);
}

TEST(Encoder, WritesADataRecordAsTheDocsShowIt) {
    EXPECT_EQ(line_of(header_of(RecordKind::data), "88123", R"({"price":"1"})"),
              R"({"connection":"btc-usd","epoch":3,"ordinal":1042,"stream":1,"seq":88123,)"
              R"("received_at":"2026-11-30T08:00:00.123456Z","kind":"data","data":"{\"price\":\"1\"}"})"
              "\n");
}

TEST(Encoder, LeavesOutASequenceThatTheRecordHasNot) {
    EXPECT_EQ(line_of(header_of(RecordKind::data), "", "x"),
              R"({"connection":"btc-usd","epoch":3,"ordinal":1042,"stream":1,)"
              R"("received_at":"2026-11-30T08:00:00.123456Z","kind":"data","data":"x"})"
              "\n");
}

TEST(Encoder, WritesBytesAsBase64) {
    auto header = header_of(RecordKind::data);
    header.binary = true;
    EXPECT_NE(line_of(header, "1", std::string_view{"\x00\xff\n", 3}).find(R"("kind":"data","data_base64":"AP8K"})"),
              std::string::npos);
}

TEST(Encoder, AppendsTheMembersOfGapsAndStates) {
    EXPECT_NE(line_of(header_of(RecordKind::gap), "", R"("reason":"sequence_hole","from":"12","to":"15")")
                  .find(R"("kind":"gap","reason":"sequence_hole","from":"12","to":"15"})"),
              std::string::npos);
    EXPECT_NE(line_of(header_of(RecordKind::state), "", R"("reason":"claimed","resume":null)")
                  .find(R"("kind":"state","reason":"claimed","resume":null})"),
              std::string::npos);
    EXPECT_NE(line_of(header_of(RecordKind::state), "", "").find(R"("kind":"state"})"), std::string::npos);
}

TEST(Encoder, ANewlineBetweenMembersDoesNotEndTheLine) {
    const std::string line = line_of(header_of(RecordKind::state), "", "\"reason\":\"claimed\",\n\"resume\":null");
    EXPECT_EQ(line.find('\n'), line.size() - 1);
}

struct SequenceCase {
    std::string_view name, seq;
    bool is_text;
    std::string_view want;
};

class EncoderSequence : public testing::TestWithParam<SequenceCase> {};

TEST_P(EncoderSequence, IsWrittenAs) {
    auto header = header_of(RecordKind::data);
    header.seq_is_text = GetParam().is_text;
    const std::string line = line_of(header, GetParam().seq, "x");
    EXPECT_NE(line.find("\"seq\":" + std::string{GetParam().want} + ",\"received_at\""), std::string::npos) << line;
}

INSTANTIATE_TEST_SUITE_P(Table, EncoderSequence,
                         testing::Values(SequenceCase{"digits", "88123", false, "88123"},
                                         SequenceCase{"more_than_64_bits", "123456789012345678901234567890", false,
                                                      "123456789012345678901234567890"},
                                         SequenceCase{"string_of_digits", "0088123", true, R"("0088123")"},
                                         SequenceCase{"opaque_string", "a\"b", true, R"("a\"b")"},
                                         SequenceCase{"fraction", "-1.5e+3", false, "-1.5e+3"},
                                         SequenceCase{"no_number_after_all", "007", false, R"("007")"},
                                         SequenceCase{"no_json_after_all", "1,\"x\":2", false, R"("1,\"x\":2")"}),
                         [](const auto& test) { return std::string{test.param.name}; });

TEST(Encoder, EachRecordHasItsOwnConnectionAndTime) {
    const Origin other{.connection = ConnectionId{"eth\"usd"}, .epoch = Epoch{9}};
    RecordBatch batch;
    auto header = header_of(RecordKind::data);
    batch.append(header, "1", "a");
    header.origin = &other;
    header.received_at = *parse_rfc3339("2026-11-30T08:00:00.000007Z");
    batch.append(header, "2", "b");
    header.origin = &origin;
    header.received_at = *parse_rfc3339("1969-12-31T23:59:59.999999Z");
    batch.append(header, "3", "c");
    const std::string text = encoded(batch);
    EXPECT_NE(text.find(R"({"connection":"eth\"usd","epoch":9,"ordinal":1042,"stream":1,"seq":2,)"
                        R"("received_at":"2026-11-30T08:00:00.000007Z")"),
              std::string::npos);
    EXPECT_NE(text.find(R"({"connection":"btc-usd","epoch":3,"ordinal":1042,"stream":1,"seq":3,)"
                        R"("received_at":"1969-12-31T23:59:59.999999Z")"),
              std::string::npos);
}

TEST(Encoder, AnOriginsMemoryMayBecomeAnotherOrigins) {
    Encoder encoder;
    Origin reused{.connection = ConnectionId{"one"}, .epoch = Epoch{1}};
    auto header = header_of(RecordKind::data);
    header.origin = &reused;
    RecordBatch batch;
    batch.append(header, "1", "a");
    std::string text;
    encoder.append(text, batch);
    reused = Origin{.connection = ConnectionId{"two"}, .epoch = Epoch{2}};
    text.clear();
    encoder.append(text, batch);
    EXPECT_TRUE(text.starts_with(R"({"connection":"two","epoch":2,)"));
}

TEST(Encoder, WhatItWritesIsReadBackTheSame) {
    std::string every_ascii;
    for (char c = 0; c < 0x7f; ++c) {
        every_ascii += c;
    }
    RecordParser parser;
    for (const std::string& body : {every_ascii, std::string{"\x7f ünï \u2028\u2029 \U0001F600"}, std::string{}}) {
        std::string line = line_of(header_of(RecordKind::data), "5", body);
        ASSERT_EQ(line.find('\n'), line.size() - 1);
        const std::size_t size = line.size() - 1;
        line.append(LineReader::padding, '\0');
        ReadRecord record;
        const auto parsed = parser.parse(std::string_view{line}.substr(0, size), record);
        ASSERT_TRUE(parsed.has_value()) << parsed.error();
        EXPECT_EQ(record.data, body);
        EXPECT_EQ(record.connection, origin.connection);
        EXPECT_EQ(record.epoch, origin.epoch);
        EXPECT_EQ(record.ordinal, 1042U);
        EXPECT_EQ(record.seq, "5");
        EXPECT_EQ(record.received_at, header_of(RecordKind::data).received_at);
    }
}

}  // namespace
}  // namespace longhold::sink
