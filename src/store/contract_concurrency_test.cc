// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/thread.h>

#include <array>

#include "contract_test.h"

namespace longhold::store::contract {
namespace {

TEST_P(StoreContract, WhatOneHandleWritesAnotherReads) {
    Handle other{*world_};
    const auto row = claimed("c1", "s1");
    join("s1");
    const auto read = other(other->get_connections({ConnectionId{"c1"}}, other.soon()));
    EXPECT_EQ(read, std::vector{row});
    EXPECT_EQ(other(other->list_sessions(other.soon()))->size(), 1U);
    const auto taken = other(other->claim({claim_of(row, "s2")}, other.soon()));
    EXPECT_TRUE(is_done(taken.front()));
    EXPECT_EQ(get("c1"), *taken.front().row);
}

TEST_P(StoreContract, OfConcurrentClaimsEachRowHasExactlyOneWinner) {
    constexpr int rows = 200;
    constexpr int workers = 4;
    std::vector<core::ConnectionRow> free;
    for (int i = 0; i < rows; ++i) {
        free.push_back(put(numbered("c", i)));
    }
    std::array<std::vector<std::string>, workers> won;
    std::vector<std::unique_ptr<Handle>> handles;
    for (int worker = 0; worker < workers; ++worker) {
        handles.push_back(std::make_unique<Handle>(*world_));
    }
    const auto work = [&](int worker) {
        Handle& store = *handles[static_cast<std::size_t>(worker)];
        const std::string session = "s" + std::to_string(worker);
        for (std::size_t at = 0; at < free.size(); at += 20) {  // in batches, so that the workers meet
            std::vector<core::Claim> claims;
            for (std::size_t i = at; i < at + 20; ++i) {
                claims.push_back(claim_of(free[(i + static_cast<std::size_t>(worker) * 50) % free.size()], session));
            }
            for (const auto& outcome : store(store->claim(std::move(claims), store.soon()))) {
                ASSERT_NE(outcome.verdict, core::Verdict::unknown);
                if (outcome.verdict == core::Verdict::done) {
                    won[static_cast<std::size_t>(worker)].push_back(outcome.row->id.text());
                }
            }
        }
    };
    {
        std::vector<std::unique_ptr<runtime::Thread>> threads;
        for (int worker = 0; worker < workers; ++worker) {
            threads.push_back(std::make_unique<runtime::Thread>("claimer", [&work, worker] { work(worker); }));
        }
    }
    std::size_t total = 0;
    for (int worker = 0; worker < workers; ++worker) {
        const auto& mine = won[static_cast<std::size_t>(worker)];
        total += mine.size();
        for (const std::string& id : mine) {
            const auto row = get(id);
            EXPECT_TRUE(row.owner.is(SessionId{"s" + std::to_string(worker)})) << id;
            EXPECT_EQ(row.epoch, Epoch{1}) << id;
        }
    }
    EXPECT_EQ(total, static_cast<std::size_t>(rows));
}

TEST_P(StoreContract, CallsOfOneHandleMayOverlap) {
    constexpr int calls = 50;
    int done = 0;
    for (int i = 0; i < calls; ++i) {
        boost::asio::co_spawn(
            store_.loop().context(),
            store_->put_connection({.id = ConnectionId{numbered("c", i)}, .labels = {}, .spec = "{}"}, store_.soon()),
            [&done](const std::exception_ptr& thrown, const Connection& outcome) {
                EXPECT_FALSE(thrown);
                EXPECT_TRUE(is_done(outcome));
                ++done;
            });
    }
    while (done < calls) {
        store_.loop().context().run_one();
    }
    EXPECT_EQ(unowned(every_bucket()).size(), static_cast<std::size_t>(calls));
}

TEST_P(StoreContract, ACallWhoseDeadlineHasPassedWritesNothing) {
    const auto outcome =
        store_(store_->put_connection({.id = ConnectionId{"c1"}, .labels = {}, .spec = "{}"}, store_.now()));
    EXPECT_EQ(outcome, Connection::unknown());
    const auto claims = store_(store_->claim({claim_of(put("c2"), "s1")}, store_.now()));
    EXPECT_EQ(claims, std::vector{Connection::unknown()});
    const auto sessions = store_(store_->list_sessions(store_.now()));
    ASSERT_FALSE(sessions.has_value());
    EXPECT_EQ(sessions.error().code, Errc::unavailable);
    EXPECT_EQ(unowned(every_bucket()), std::vector<std::string>{"c2"});
}

}  // namespace
}  // namespace longhold::store::contract
