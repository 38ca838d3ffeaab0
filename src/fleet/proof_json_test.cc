// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/fleet/proof.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/clock.h>

namespace longhold::fleet {
namespace {

using testing::HasSubstr;

TEST(ProofJson, PrintsMillisecondsWithoutRounding) {
    ProofResult result;
    result.connections = 2;
    result.delivered = 9;
    result.crash_recovery = Spread{.count = 2, .p50_us = 6'312'044, .p99_us = 6'500'000, .max_us = 6'500'000};
    EXPECT_EQ(proof_json(result, 0),
              R"({"connections":2,"delivered":9,"lost":0,"redelivered":0,"late":0,"overlaps":0,"unknown":0,)"
              R"("unrecovered":0,"crash_recovery_ms":{"p50":6312.044,"p99":6500,"max":6500,"count":2},)"
              R"("handover_gap_ms":{"p50":null,"p99":null,"max":null,"count":0},"proof":"ok"})");
    result.failures = {"1 message was lost"};
    EXPECT_THAT(proof_json(result, 0), HasSubstr(R"("proof":["1 message was lost"])"));
}

TEST(ProofJson, EventsAreReadBackAsWritten) {
    RunEvents events;
    events.harms.push_back(
        Harm{.at_us = 5, .kind = HarmKind::kill, .worker = "w1", .session = "s1", .connections = {"a", "b"}});
    events.harms.push_back(
        Harm{.at_us = 6, .kind = HarmKind::drain, .worker = "w2", .session = "s2", .connections = {}});
    events.stop = Stop{.at_us = 7, .heads = {{"a", StreamHead{1, 10}}, {"b", StreamHead{2, 0}}}};
    const auto read = parse_events(events_json(events));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, events);
}

TEST(ProofJson, SaysWhatIsWrongWithEvents) {
    for (const auto& [text, wanted] : std::vector<std::pair<std::string, std::string>>{
             {"{", "not JSON"},
             {"{}", "not an array"},
             {"[]", "exactly one stop"},
             {R"([{"kind":"kill"}])", "\"at_us\""},
             {R"([{"at_us":1,"kind":"hug"}])", "kill, drain or stop"},
             {R"([{"at_us":1,"kind":"kill","worker":"w","session":"s"}])", "\"connections\""},
             {R"([{"at_us":1,"kind":"stop","heads":{"a":{"seq":1}}}])", "a: \"stream\""}}) {
        const auto read = parse_events(text);
        ASSERT_FALSE(read) << text;
        EXPECT_THAT(read.error(), HasSubstr(wanted)) << text;
    }
}

TEST(ProofJson, ReadsTheOraclesDocument) {
    const auto oracle = parse_oracle(R"({"ids":{"a":{"streams":[{"stream":1,"head":9},{"stream":2,"head":3}],"sockets":[
        {"opened_at_us":5,"closed_at_us":null,"sent":[{"stream":1,"first":4,"last":9,"count":6}]},
        {"opened_at_us":1,"closed_at_us":4,"sent":[]}]}}})");
    ASSERT_TRUE(oracle) << oracle.error();
    const auto& a = oracle->at("a");
    EXPECT_THAT(a.heads, testing::ElementsAre(9, 3));
    EXPECT_EQ(a.sockets[0].closed_at_us, std::nullopt);
    EXPECT_EQ(a.sockets[1].closed_at_us, 4);
    EXPECT_THAT(a.sockets[0].firsts, testing::ElementsAre(testing::Pair(1, 4)));
    EXPECT_EQ(heads_of(*oracle).at("a"), (StreamHead{2, 3}));
}

TEST(ProofJson, ReadsWhatTheMockUpstreamWrites) {
    const runtime::SystemClock clock;
    mock::MockUpstream mock{{}, clock};
    ASSERT_TRUE(mock.start());
    EXPECT_TRUE(parse_oracle(mock.control("GET", "/oracle").body));
    EXPECT_FALSE(parse_oracle(mock.control("GET", "/livez").body));
}

}  // namespace
}  // namespace longhold::fleet
