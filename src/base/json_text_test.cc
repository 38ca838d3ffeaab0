// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/json_text.h>

namespace longhold {
namespace {

TEST(JsonText, EscapesWhatAStringCannotHold) {
    std::string out;
    append_json_string(out, std::string_view{"a\"b\\c\n\x01\0é", 10});
    EXPECT_EQ(out, "\"a\\\"b\\\\c\\n\\u0001\\u0000é\"");
}

TEST(JsonText, EncodesBase64WithPadding) {
    for (const auto& [bytes, want] : {std::pair{"", ""}, std::pair{"f", "Zg=="}, std::pair{"fo", "Zm8="},
                                      std::pair{"foo", "Zm9v"}, std::pair{"foobar", "Zm9vYmFy"}}) {
        std::string out;
        append_base64(out, bytes);
        EXPECT_EQ(out, want);
    }
}

TEST(JsonWriter, PutsCommasAndNests) {
    JsonWriter json;
    json.begin_object().key("a").value(1).key("b").begin_array().value(true).null().value("x").end_array();
    json.key("c").begin_object().end_object().key("d").value(0.5).end_object();
    EXPECT_EQ(json.text(), R"({"a":1,"b":[true,null,"x"],"c":{},"d":0.5})");
}

TEST(JsonWriter, IndentsWhenAsked) {
    JsonWriter json{2};
    json.begin_object().key("a").begin_array().value(1).end_array().end_object();
    EXPECT_EQ(json.text(), "{\n  \"a\": [\n    1\n  ]\n}");
}

}  // namespace
}  // namespace longhold
