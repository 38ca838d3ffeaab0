// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/config/connection_document.h>
#include <longhold/config/names.h>

namespace longhold::config {
namespace {

std::string problems_of(std::string_view text) {
    const auto documents = parse_connection_documents(text, "in.json");
    std::string out;
    if (!documents) {
        for (const Problem& problem : documents.error()) {
            out += problem.text() + "\n";
        }
    }
    return out;
}

TEST(ConnectionDocuments, AreReadFromLinesAndFromAnArray) {
    const auto lines = parse_connection_documents(
        "{\"id\":\"a\",\"spec\":{\"url\":\"wss://h/\"}}\n\n"
        "{\"id\":\"b\",\"labels\":{\"k\":\"v\"},\"spec\":{\"url\":\"wss://h/[,]\"},\"desired_state\":\"STOPPED\"}\n",
        "in.json");
    const auto array = parse_connection_documents(
        "[{\"id\":\"a\",\"spec\":{\"url\":\"wss://h/\"}},\n\n"
        " {\"id\":\"b\",\"labels\":{\"k\":\"v\"},\"spec\":{\"url\":\"wss://h/[,]\"},\"desired_state\":\"STOPPED\"}]\n",
        "in.json");
    ASSERT_TRUE(lines && array);
    EXPECT_EQ(*lines, *array);
    EXPECT_EQ(lines->at(1).line, 3U);
    EXPECT_EQ(lines->at(1).labels.at("k"), "v");
    EXPECT_EQ(lines->at(1).desired_state, "STOPPED");
    EXPECT_TRUE(parse_connection_documents(" [ ] ", "in.json").value().empty());
    EXPECT_TRUE(parse_connection_documents("", "in.json").value().empty());
}

TEST(ConnectionDocuments, NameBothLinesOfAnIdThatOccursTwice) {
    EXPECT_EQ(
        problems_of("{\"id\":\"a\",\"spec\":{\"url\":\"wss://h/\"}}\n{\"id\":\"b\",\"spec\":{\"url\":\"wss://h/\"}}\n"
                    "{\"id\":\"a\",\"spec\":{\"url\":\"wss://h/\"}}\n"),
        "the connection id \"a\" occurs twice, on lines 1 and 3 (in.json:3): remove one of the two\n");
}

TEST(ConnectionDocuments, ReportAllProblemsWithTheirLines) {
    EXPECT_EQ(problems_of("{\"id\":\"a b\",\"spec\":{\"url\":\"wss://h/\"}}\n"
                          "{\"id\":\"b\",\"spce\":{}}\n"
                          "{\"id\":\"c\",\"spec\":{\"url\":\"wss://h/\"},\"desired_state\":\"started\"}\n"),
              "the connection id \"a b\" has a character that is not allowed, at position 2 (in.json:1): use 1 to 128 "
              "characters of A-Z a-z 0-9 and ._:@/-\n"
              "unknown key spce (in.json:2): did you mean spec?\n"
              "the document has no spec (in.json:2): add \"spec\":{\"url\":\"wss://…\"}\n"
              "desired_state is \"started\" (in.json:3): use STARTED or STOPPED\n");
    EXPECT_THAT(problems_of("{\"id\":"), testing::HasSubstr("(in.json:1): give one JSON array, or one whole document"));
    EXPECT_THAT(problems_of("[{}"), testing::HasSubstr("the array has no end (in.json)"));
    EXPECT_THAT(problems_of("[] x"), testing::HasSubstr("text follows the array on line 1"));
}

TEST(Names, RefuseWhatCannotBeAnId) {
    EXPECT_TRUE(check_connection_id("a.b_c:d@e/f-1"));
    EXPECT_FALSE(check_connection_id(""));
    EXPECT_FALSE(check_connection_id(std::string(129, 'a')));
    EXPECT_TRUE(check_connection_id(std::string(128, 'a')));
    EXPECT_EQ(check_connection_id("é").error(),
              "the connection id \"é\" has a character that is not allowed, at position 1; use 1 to 128 characters of "
              "A-Z a-z 0-9 and ._:@/-");
    EXPECT_EQ(parse_label("region=eu=1").value(), (std::pair<std::string, std::string>{"region", "eu=1"}));
    EXPECT_EQ(parse_label("region").error(), "\"region\" is no label: it has no \"=\"; write it like region=eu");
    EXPECT_FALSE(parse_label("=x"));
    EXPECT_FALSE(parse_label("a=\n"));
}

}  // namespace
}  // namespace longhold::config
