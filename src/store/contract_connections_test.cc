// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "contract_test.h"

namespace longhold::store::contract {
namespace {

using core::DesiredState;

const std::optional<core::ConnectionRow> no_row;
constexpr WallTime far_future{std::chrono::sys_days{std::chrono::year{2200} / 1 / 1}};

TEST_P(StoreContract, PutCreatesAnUnownedRowInItsBucket) {
    const core::Labels labels{{"venue", "x \"y\" \\ \n"}, {"\xC3\xA9", ""}};
    const auto row = put("c1", DesiredState::started, labels);
    EXPECT_EQ(row.id, ConnectionId{"c1"});
    EXPECT_EQ(row.labels, labels);
    EXPECT_EQ(row.spec, R"({"url":"wss://example.test/"})");
    EXPECT_EQ(row.spec_revision, 1U);
    EXPECT_EQ(row.desired, DesiredState::started);
    EXPECT_EQ(row.owner, nobody(DesiredState::started, "c1"));
    EXPECT_EQ(row.epoch, Epoch{0});
    EXPECT_FALSE(row.cursor.has_value());
    EXPECT_GT(row.updated_at, WallTime{});
    EXPECT_EQ(get("c1"), row);
    EXPECT_EQ(put("c2", DesiredState::stopped).owner, nobody(DesiredState::stopped, "c2"));
}

TEST_P(StoreContract, SpecRevisionRisesOnlyWhenTheSpecDiffers) {
    put("c1");
    EXPECT_EQ(put("c1", DesiredState::stopped, {{"a", "b"}}).spec_revision, 1U);
    const PutConnection verb{.id = ConnectionId{"c1"}, .labels = {}, .spec = "{}"};
    EXPECT_EQ(store_(store_->put_connection(verb, store_.soon())).row->spec_revision, 2U);
    EXPECT_EQ(store_(store_->put_connection(verb, store_.soon())).row->spec_revision, 2U);
}

TEST_P(StoreContract, PutReplacesWhatIsWantedAndLeavesTheOwnerAlone) {
    auto expected = claimed("c1", "s1");
    PutConnection verb{.id = expected.id, .labels = {{"a", "b"}}, .spec = "{}"};
    verb.desired = DesiredState::stopped;
    const auto outcome = store_(store_->put_connection(verb, store_.soon()));
    ASSERT_TRUE(is_done(outcome));
    expected.labels = verb.labels;
    expected.spec = verb.spec;
    expected.spec_revision = 2;
    expected.desired = verb.desired;
    expected.updated_at = outcome.row->updated_at;
    EXPECT_EQ(*outcome.row, expected);
}

TEST_P(StoreContract, PutOfWhatIsThereAlreadyChangesNothing) {
    const auto row = put("c1");
    EXPECT_EQ(put("c1"), row);
}

TEST_P(StoreContract, PutMovesTheBucketOfAnUnownedRow) {
    put("c1");
    EXPECT_EQ(put("c1", DesiredState::stopped).owner, nobody(DesiredState::stopped, "c1"));
    EXPECT_EQ(put("c1").owner, nobody(DesiredState::started, "c1"));
}

TEST_P(StoreContract, PutOnlyIfAbsentIsRefusedByARowButNotByATombstone) {
    const auto row = put("c1");
    PutConnection verb{.id = row.id, .labels = {}, .spec = "{}"};
    verb.only_if_absent = true;
    EXPECT_TRUE(is_refused_by(store_(store_->put_connection(verb, store_.soon())), std::optional{row}));
    set_desired("c1", DesiredState::deleted);
    EXPECT_TRUE(is_done(store_(store_->put_connection(verb, store_.soon()))));
    verb.id = ConnectionId{"c2"};
    EXPECT_TRUE(is_done(store_(store_->put_connection(verb, store_.soon()))));
}

TEST_P(StoreContract, PutRefusesTextThatIsNotUtf8AndRowsWithoutAName) {
    const std::string bad = "\xFF";
    for (const PutConnection& verb : {PutConnection{.id = ConnectionId{bad}, .labels = {}, .spec = "{}"},
                                      PutConnection{.id = ConnectionId{"c1"}, .labels = {{bad, ""}}, .spec = "{}"},
                                      PutConnection{.id = ConnectionId{"c1"}, .labels = {}, .spec = bad},
                                      PutConnection{.id = ConnectionId{}, .labels = {}, .spec = "{}"}}) {
        EXPECT_TRUE(is_refused_by(store_(store_->put_connection(verb, store_.soon())), no_row));
    }
}

TEST_P(StoreContract, SetDesiredMovesTheBucketOfAnUnownedRow) {
    put("c1");
    EXPECT_EQ(unowned(every_bucket()), std::vector<std::string>{"c1"});
    EXPECT_EQ(set_desired("c1", DesiredState::stopped).owner, nobody(DesiredState::stopped, "c1"));
    EXPECT_TRUE(unowned(every_bucket()).empty());
    EXPECT_EQ(set_desired("c1", DesiredState::started).owner, nobody(DesiredState::started, "c1"));
    EXPECT_EQ(unowned(every_bucket()), std::vector<std::string>{"c1"});
}

TEST_P(StoreContract, SetDesiredNeverTouchesASessionAsOwner) {
    auto expected = claimed("c1", "s1");
    for (const DesiredState desired : {DesiredState::stopped, DesiredState::started, DesiredState::deleted}) {
        const auto row = set_desired("c1", desired);
        expected.desired = desired;
        expected.updated_at = row.updated_at;
        EXPECT_EQ(row, expected);
    }
}

TEST_P(StoreContract, SetDesiredIsRefusedWhereThereIsNoRowOrATombstone) {
    const auto set = [&](const std::string& id, DesiredState desired) {
        return store_(store_->set_desired(ConnectionId{id}, desired, store_.soon()));
    };
    EXPECT_TRUE(is_refused_by(set("c1", DesiredState::started), no_row));
    EXPECT_TRUE(is_refused_by(set("c1", DesiredState::deleted), no_row));
    put("c1");
    const auto tombstone = set_desired("c1", DesiredState::deleted);
    EXPECT_TRUE(is_refused_by(set("c1", DesiredState::started), std::optional{tombstone}));
    EXPECT_TRUE(is_refused_by(set("c1", DesiredState::stopped), std::optional{tombstone}));
    EXPECT_EQ(set("c1", DesiredState::deleted), Connection::done(tombstone)) << "deleting twice changes nothing";
}

TEST_P(StoreContract, ATombstoneKeepsEpochAndCursorAndPutRevivesIt) {
    auto verb = claim_of(put("c1"), "s1");
    verb.cursor = cursor_at(0, 8, "kept");
    const auto owned = claim(verb);
    ASSERT_TRUE(is_done(owned));
    EXPECT_TRUE(is_done(release(release_of(*owned.row))));
    const auto tombstone = set_desired("c1", DesiredState::deleted);
    EXPECT_EQ(tombstone.epoch, owned.row->epoch);
    EXPECT_EQ(tombstone.owner, nobody(DesiredState::deleted, "c1"));
    const auto revived = put("c1");
    EXPECT_EQ(revived.epoch, owned.row->epoch);
    EXPECT_EQ(revived.cursor, verb.cursor);
    EXPECT_EQ(revived.desired, DesiredState::started);
    EXPECT_EQ(revived.owner, nobody(DesiredState::started, "c1"));
}

TEST_P(StoreContract, PurgeRaisesTheFloorAboveEveryPurgedEpoch) {
    auto row = claimed("c1", "s1");
    for (int i = 0; i < 4; ++i) {
        row = *claim(claim_of(row, "s1")).row;
    }
    EXPECT_TRUE(is_done(release(release_of(row))));
    set_desired("c1", DesiredState::deleted);
    EXPECT_EQ(store_(store_->info(store_.soon()))->epoch_floor, 0U);
    EXPECT_EQ(store_(store_->purge_deleted(far_future, 100, store_.soon())), std::uint32_t{1});
    EXPECT_TRUE(store_(store_->get_connections({ConnectionId{"c1"}}, store_.soon()))->empty());
    EXPECT_GT(store_(store_->info(store_.soon()))->epoch_floor, row.epoch.value);
    EXPECT_GT(put("c1").epoch, row.epoch) << "a late writer of the purged row can never pass for the new owner";
    EXPECT_GT(put("c2").epoch, row.epoch);
}

TEST_P(StoreContract, PurgeTakesOnlyOldUnownedTombstonesUpToItsLimit) {
    put("wanted");
    put("stopped", DesiredState::stopped);
    claimed("owned", "s1");
    set_desired("owned", DesiredState::deleted);
    for (const std::string id : {"t1", "t2", "t3"}) {
        put(id);
        set_desired(id, DesiredState::deleted);
    }
    EXPECT_EQ(store_(store_->purge_deleted(WallTime{}, 100, store_.soon())), std::uint32_t{0});
    EXPECT_EQ(store_(store_->purge_deleted(far_future, 2, store_.soon())), std::uint32_t{2});
    EXPECT_EQ(store_(store_->purge_deleted(far_future, 2, store_.soon())), std::uint32_t{1});
    const auto left = store_(store_->list_connections({}, true, ConnectionId{}, 100, store_.soon()));
    EXPECT_EQ(ids(left->rows), (std::vector<std::string>{"owned", "stopped", "wanted"}));
}

TEST_P(StoreContract, ListConnectionsHidesTombstonesUnlessAsked) {
    put("c1");
    put("c2");
    set_desired("c1", DesiredState::deleted);
    const auto list = [&](bool with_deleted) {
        return ids(store_(store_->list_connections({}, with_deleted, ConnectionId{}, 10, store_.soon()))->rows);
    };
    EXPECT_EQ(list(false), std::vector<std::string>{"c2"});
    EXPECT_EQ(list(true), (std::vector<std::string>{"c1", "c2"}));
}

TEST_P(StoreContract, ASelectorAppliesBeforeTheLimit) {
    for (int i = 0; i < 20; ++i) {
        put(numbered("c", i), DesiredState::started,
            {{"parity", i % 2 == 0 ? "even" : "odd"}, {"third", i % 3 == 0 ? "yes" : "no"}});
    }
    const auto list = [&](Selector selector, const std::string& after, std::uint32_t limit) {
        return *store_(store_->list_connections(std::move(selector), false, ConnectionId{after}, limit, store_.soon()));
    };
    const auto first = list({{"parity", "odd"}}, "", 4);
    EXPECT_EQ(ids(first.rows), (std::vector<std::string>{"c0001", "c0003", "c0005", "c0007"}));
    EXPECT_TRUE(first.more);
    const auto last = list({{"parity", "odd"}}, "c0013", 3);
    EXPECT_EQ(ids(last.rows), (std::vector<std::string>{"c0015", "c0017", "c0019"}));
    EXPECT_FALSE(last.more);
    EXPECT_EQ(ids(list({{"parity", "even"}, {"third", "yes"}}, "", 10).rows),
              (std::vector<std::string>{"c0000", "c0006", "c0012", "c0018"}));
    EXPECT_TRUE(list({{"parity", "none"}}, "", 10).rows.empty());
    EXPECT_TRUE(list({{"absent", ""}}, "", 10).rows.empty()) << "a label that is not there is not an empty one";
}

TEST_P(StoreContract, ListUnownedGivesOnlyWantedRowsOfTheBucketsAsked) {
    std::set<std::string> expected;
    const std::vector<std::uint32_t> asked{3, 0, 7, 3};
    for (int i = 0; i < 60; ++i) {
        const std::string id = numbered("c", i);
        if (i % 3 == 0) {
            put(id, DesiredState::stopped);
        } else if (i % 3 == 1) {
            claimed(id, "s1");
        } else {
            put(id);
            if (std::ranges::count(asked, core::bucket_of(ConnectionId{id}, buckets)) != 0) {
                expected.insert(id);
            }
        }
    }
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(unowned(asked), std::vector<std::string>(expected.begin(), expected.end()));
    EXPECT_TRUE(unowned({}).empty());
}

TEST_P(StoreContract, PagesByIdCoverMoreThanAThousandRowsOnce) {
    constexpr int count = 1100;
    std::vector<core::Claim> claims;
    for (int i = 0; i < count; ++i) {
        claims.push_back(claim_of(put(numbered("c", i)), "s1"));
    }
    const auto walk = [&](const auto& ask) {
        std::vector<std::string> seen;
        for (ConnectionId after;;) {
            const auto page = store_(ask(after));
            const auto some = ids(page->rows);
            seen.insert(seen.end(), some.begin(), some.end());
            if (!page->more) {
                return seen;
            }
            after = page->rows.back().id;
        }
    };
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(numbered("c", i));
    }
    EXPECT_EQ(walk([&](const ConnectionId& after) {
                  return store_->list_unowned(every_bucket(), after, 100, store_.soon());
              }),
              all);
    EXPECT_EQ(walk([&](const ConnectionId& after) {
                  return store_->list_connections({}, false, after, 1000, store_.soon());
              }),
              all);
    for (const auto& outcome : store_(store_->claim(claims, store_.soon()))) {
        EXPECT_TRUE(is_done(outcome));
    }
    EXPECT_EQ(
        walk([&](const ConnectionId& after) { return store_->list_owned(SessionId{"s1"}, after, 275, store_.soon()); }),
        all);
    EXPECT_TRUE(unowned(every_bucket()).empty());
}

TEST_P(StoreContract, ListOwnedGivesTheRowsThatNameTheSession) {
    claimed("c2", "s1");
    claimed("c1", "s1");
    claimed("c3", "s10");
    put("c4");
    const auto owned = [&](const std::string& session) {
        return ids(store_(store_->list_owned(SessionId{session}, ConnectionId{}, 10, store_.soon()))->rows);
    };
    EXPECT_EQ(owned("s1"), (std::vector<std::string>{"c1", "c2"}));
    EXPECT_TRUE(owned("s2").empty());
    EXPECT_TRUE(owned(nobody(DesiredState::started, "c4").text()).empty()) << "a bucket is no session";
}

TEST_P(StoreContract, APageWithoutRoomIsAnInvalidQuestion) {
    const auto page = store_(store_->list_connections({}, false, ConnectionId{}, 0, store_.soon()));
    ASSERT_FALSE(page.has_value());
    EXPECT_EQ(page.error().code, Errc::invalid);
}

TEST_P(StoreContract, GetConnectionsGivesTheRowsThatExistTombstonesToo) {
    put("c1");
    put("c2");
    set_desired("c2", DesiredState::deleted);
    const auto rows =
        store_(store_->get_connections({ConnectionId{"c2"}, ConnectionId{"c3"}, ConnectionId{"c1"}}, store_.soon()));
    auto found = ids(*rows);
    std::ranges::sort(found);
    EXPECT_EQ(found, (std::vector<std::string>{"c1", "c2"}));
}

TEST_P(StoreContract, InfoTellsTheBuckets) {
    const auto info = store_(store_->info(store_.soon()));
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->buckets, buckets);
    EXPECT_GE(info->schema_version, info->min_compatible_version);
    EXPECT_GE(info->min_compatible_version, 1U);
}

}  // namespace
}  // namespace longhold::store::contract
