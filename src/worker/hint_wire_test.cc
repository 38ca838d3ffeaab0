// SPDX-License-Identifier: Apache-2.0
#include "hint_wire.h"

#include <gtest/gtest.h>

namespace longhold::worker {
namespace {

HintMessage message() {
    return {.from = SessionId{"s-1"},
            .to = SessionId{"s-2"},
            .hint = {.kind = core::HintKind::released,
                     .session = SessionId{"s-1"},
                     .connections = {ConnectionId{"btc-usd"}, ConnectionId{"a/b:c@d"}}}};
}

TEST(HintWire, IsReadBack) {
    EXPECT_EQ(decode(encode(message())).value(), message());
}

TEST(HintWire, PassesOverWhatALaterVersionAdds) {
    EXPECT_EQ(decode(encode(message()) + "offer 7\n").value(), message());
}

TEST(HintWire, RefusesWhatIsNoHint) {
    for (const std::string_view text :
         {"", "longhold-hint 2\nkind released\n", "longhold-hint 1\n", "longhold-hint 1\nkind rumour\nfrom a\nto b\n",
          "longhold-hint 1\nkind released\nfrom a\n", "longhold-hint 1\nkind released\nfrom a\nto \n",
          "longhold-hint 1\nkind\n"}) {
        EXPECT_FALSE(decode(text)) << text;
    }
    std::string many = encode(message());
    for (std::size_t i = 0; i < core::hint_connections_max; ++i) {
        many += "connection c\n";
    }
    EXPECT_FALSE(decode(many));
    EXPECT_FALSE(decode(encode(message()) + "connection " + std::string(300, 'x') + "\n"));
}

TEST(HintWire, IsSignedWithOneOfTheKeys) {
    const auto text = encode(message());
    const auto signature = signature_of(text, "new");
    EXPECT_TRUE(signed_by_any(text, signature, {"old", "new"}));
    EXPECT_FALSE(signed_by_any(text, signature, {"old"}));
    EXPECT_FALSE(signed_by_any(text, signature, {}));
    EXPECT_FALSE(signed_by_any(text, signature_of(text, ""), {""})) << "an empty key is none";
    EXPECT_FALSE(signed_by_any(text + "connection x\n", signature, {"new"}));
}

}  // namespace
}  // namespace longhold::worker
