// SPDX-License-Identifier: Apache-2.0
// The categories of the Autobahn test suite that concern a client without extensions, as data: 1 sizes, 2 pings and
// pongs, 3 reserved bits, 4 opcodes, 5 fragmentation, 6 UTF-8, 7 closing.
#include <gtest/gtest.h>

#include "server_frames.h"

namespace longhold::upstream {
namespace {

using Events = std::vector<std::string>;

// What the events come to: texts as they are, and a fault as the close code that answers it.
struct Case {
    std::string_view id;
    std::string stream;
    Events want;
};

std::string fault(unsigned code) {
    return "fault " + std::to_string(code);
}

std::string stars(std::size_t count) {
    return std::string(count, '*');
}

std::vector<Case> sizes_and_pings() {
    std::vector<Case> cases;
    int number = 0;
    static const char* const names[] = {"1_1_1", "1_1_2", "1_1_3", "1_1_4", "1_1_5", "1_1_6", "1_1_7"};
    static const char* const binary_names[] = {"1_2_1", "1_2_2", "1_2_3", "1_2_4", "1_2_5", "1_2_6", "1_2_7"};
    for (const std::size_t size : {0U, 125U, 126U, 127U, 128U, 65'535U, 65'536U}) {
        cases.push_back({names[number], server_frame(0x81, stars(size)), {"text " + stars(size)}});
        const std::string blob(size, '\xfe');
        cases.push_back({binary_names[number++], server_frame(0x82, blob), {"binary " + blob}});
    }
    const std::string blob125(125, '\xfe');
    cases.push_back({"2_1", server_frame(0x89, ""), {"ping "}});
    cases.push_back({"2_2", server_frame(0x89, "Hello, world!"), {"ping Hello, world!"}});
    cases.push_back({"2_4", server_frame(0x89, blob125), {"ping " + blob125}});
    cases.push_back({"2_5", server_frame(0x89, blob125 + "\xfe"), {fault(1002)}});
    cases.push_back({"2_7", server_frame(0x8a, ""), {"pong "}});
    cases.push_back({"2_8", server_frame(0x8a, "unsolicited"), {"pong unsolicited"}});
    return cases;
}

std::vector<Case> reserved_bits_and_opcodes() {
    const std::string hello = server_frame(0x81, "Hello");
    return {
        {"3_1", server_frame(0x91, "Hello"), {fault(1002)}},
        {"3_2", hello + server_frame(0xa1, "Hello") + server_frame(0x89, ""), {"text Hello", fault(1002)}},
        {"3_4", hello + server_frame(0xc1, "Hello"), {"text Hello", fault(1002)}},
        {"3_5", server_frame(0xd2, "\xfe"), {fault(1002)}},
        {"3_6", server_frame(0xe9, "Hello"), {fault(1002)}},
        {"3_7", server_frame(0xf8, ""), {fault(1002)}},
        {"4_1_1", server_frame(0x83, ""), {fault(1002)}},
        {"4_1_3", hello + server_frame(0x85, "") + server_frame(0x89, ""), {"text Hello", fault(1002)}},
        {"4_1_5", hello + server_frame(0x87, "x"), {"text Hello", fault(1002)}},
        {"4_2_1", server_frame(0x8b, ""), {fault(1002)}},
        {"4_2_3", hello + server_frame(0x8d, ""), {"text Hello", fault(1002)}},
        {"4_2_5", hello + server_frame(0x8f, "x"), {"text Hello", fault(1002)}},
    };
}

std::vector<Case> fragmentation() {
    const auto first = [](std::string_view text) { return server_frame(0x01, text); };
    const auto more = [](std::string_view text) { return server_frame(0x00, text); };
    const auto last = [](std::string_view text) { return server_frame(0x80, text); };
    const std::string ping = server_frame(0x89, "pong");
    return {
        {"5_1", server_frame(0x09, "a") + last("b"), {fault(1002)}},
        {"5_2", server_frame(0x0a, "a") + last("b"), {fault(1002)}},
        {"5_3", first("fragment1") + last("fragment2"), {"text fragment1fragment2"}},
        {"5_6", first("fragment1") + ping + last("fragment2"), {"ping pong", "text fragment1fragment2"}},
        {"5_9", last("non-continuation payload") + server_frame(0x81, "Hello"), {fault(1002)}},
        {"5_12", more("non-continuation payload") + server_frame(0x81, "Hello"), {fault(1002)}},
        {"5_15",
         first("fragment1") + last("fragment2") + more("fragment3") + first("fragment4"),
         {"text fragment1fragment2", fault(1002)}},
        {"5_16", more("fragment1") + first("fragment2") + last("fragment3"), {fault(1002)}},
        {"5_18", first("fragment1") + server_frame(0x81, "fragment2"), {fault(1002)}},
        {"5_19",
         first("1") + more("2") + ping + more("3") + more("4") + ping + last("5"),
         {"ping pong", "ping pong", "text 12345"}},
        {"6_1_1", server_frame(0x81, ""), {"text "}},
        {"6_1_2", first("") + more("") + last(""), {"text "}},
        {"6_1_3", first("") + more("middle") + last(""), {"text middle"}},
    };
}

std::vector<Case> texts() {
    const std::string good = "Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!";
    std::vector<Case> cases{
        {"6_2_1", server_frame(0x81, good), {"text " + good}},
        {"6_2_2", server_frame(0x01, good.substr(0, 12)) + server_frame(0x80, good.substr(12)), {"text " + good}},
        {"6_3_1",
         server_frame(0x81,
                      "\xce\xba\xe1\xbd\xb9\xed\xa0\x80"
                      "edited"),
         {fault(1007)}},
        {"6_4_1",
         server_frame(0x01, "\xce\xba") + server_frame(0x00, "\xf4\x90\x80\x80") + server_frame(0x80, "edited"),
         {fault(1007)}},
    };

    static const struct {
        std::string_view id;
        std::string_view text;
        bool valid;
    } singles[] = {
        {"6_5_2", "\xce", false},
        {"6_6_1", "\xf8\x88\x80\x80\x80", false},
        {"6_6_5", "\xf7\xbf\xbf\xbf", false},
        {"6_7_1", "\xed\x9f\xbf", true},
        {"6_8_1", "\xee\x80\x80", true},
        {"6_9_1", "\xef\xbf\xbd", true},
        {"6_9_4", "\xf4\x8f\xbf\xbf", true},
        {"6_10_1", "\xf4\x90\x80\x80", false},
        {"6_11_1", "\x80", false},
        {"6_12_1", "\x80\xbf\x80", false},
        {"6_13_1", "\xc0 \xc1 \xc2 ", false},
        {"6_14_1", "\xc0", false},
        {"6_15_1", "\xe0\x80\xf0\x80\x80", false},
        {"6_16_1", "\xff\xfe", false},
        {"6_17_1", "\xc0\xaf", false},
        {"6_17_3", "\xf0\x80\x80\xaf", false},
        {"6_18_2", "\xe0\x9f\xbf", false},
        {"6_20_1", "\xed\xa0\x80", false},
        {"6_21_1", "\xed\xa0\x80\xed\xb0\x80", false},
        {"6_22_1", "\xef\xbf\xbe", true},
    };

    for (const auto& single : singles) {
        cases.push_back({single.id,
                         server_frame(0x81, single.text),
                         {single.valid ? "text " + std::string{single.text} : fault(1007)}});
    }
    return cases;
}

std::vector<Case> closing() {
    std::vector<Case> cases{
        {"7_1_3", server_close(1000) + server_frame(0x89, "late"), {"close 1000 "}},
        {"7_1_5",
         server_frame(0x01, "fragment1") + server_close(1000) + server_frame(0x80, "fragment2"),
         {"close 1000 "}},
        {"7_3_1", server_frame(0x88, ""), {"close 1005 "}},
        {"7_3_2", server_frame(0x88, "a"), {fault(1002)}},
        {"7_3_5", server_close(1000, stars(123)), {"close 1000 " + stars(123)}},
        {"7_3_6", server_close(1000, stars(124)), {fault(1002)}},
        {"7_5_1", server_close(1000, "\xce\xba\xed\xa0\x80"), {fault(1007)}},
    };
    static std::vector<std::string> ids;
    ids.reserve(64);
    for (const unsigned code :
         {1000U, 1001U, 1002U, 1003U, 1007U, 1008U, 1009U, 1010U, 1011U, 3000U, 3999U, 4000U, 4999U}) {
        ids.push_back("7_7_code_" + std::to_string(code));
        cases.push_back({ids.back(), server_close(code, "why"), {"close " + std::to_string(code) + " why"}});
    }
    for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1016U, 1100U, 2000U, 2999U, 5000U, 65'535U}) {
        ids.push_back("7_9_code_" + std::to_string(code));
        cases.push_back({ids.back(), server_close(code), {fault(1002)}});
    }
    return cases;
}

std::vector<Case> all_cases() {
    std::vector<Case> all;
    for (auto* group : {+[] { return sizes_and_pings(); }, +[] { return reserved_bits_and_opcodes(); },
                        +[] { return fragmentation(); }, +[] { return texts(); }, +[] { return closing(); }}) {
        for (auto& one : group()) {
            all.push_back(std::move(one));
        }
    }
    return all;
}

class AutobahnCase : public testing::TestWithParam<Case> {};

TEST_P(AutobahnCase, PassesWholeAndInPieces) {
    const auto& param = GetParam();
    for (const std::size_t piece : {std::size_t{1} << 20U, std::size_t{1}, std::size_t{997}}) {
        Events got = decode_in_pieces(param.stream, {}, 0, [&] { return piece; });
        for (auto& event : got) {
            if (event.starts_with("fault ")) {
                event.resize(10);
            }
        }
        EXPECT_EQ(got, param.want) << "in pieces of " << piece;
    }
}

INSTANTIATE_TEST_SUITE_P(Categories, AutobahnCase, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return "Case" + std::string{test.param.id}; });

}  // namespace
}  // namespace longhold::upstream
