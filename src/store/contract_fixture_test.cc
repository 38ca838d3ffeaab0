// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>

#include "contract_test.h"

namespace longhold::store::contract {

core::SessionRow session_row(const std::string& id) {
    core::SessionRow row;
    row.id = SessionId{id};
    row.worker_id = WorkerId{"worker of " + id};
    row.attempt = AttemptToken{"join " + id};
    row.lease = std::chrono::seconds{6};
    row.heartbeat_every = std::chrono::microseconds{1500};
    row.capacity = 10'000;
    row.generation = 3;
    row.version = "1.2.3";
    row.zone = "eu-1a";
    row.address = "127.0.0.1:8472";
    return row;
}

core::Cursor cursor_at(std::uint64_t epoch, std::uint64_t ordinal, const std::string& value) {
    return {.sequence_id = 1, .epoch = Epoch{epoch}, .ordinal = ordinal, .stream = 2, .value = value};
}

core::Claim claim_of(const core::ConnectionRow& row, const std::string& session, const std::string& attempt) {
    return {.connection = row.id,
            .owner_expected = row.owner,
            .epoch_expected = row.epoch,
            .session = SessionId{session},
            .attempt = AttemptToken{attempt},
            .cursor = std::nullopt};
}

core::Release release_of(const core::ConnectionRow& row, const std::string& attempt) {
    return {.connection = row.id,
            .session = row.owner.session_id(),
            .epoch = row.epoch,
            .attempt = AttemptToken{attempt},
            .cursor = std::nullopt};
}

std::string numbered(const std::string& prefix, int number) {
    const std::string digits = std::to_string(number);
    return prefix + std::string(4 - digits.size(), '0') + digits;
}

std::vector<std::string> ids(const std::vector<core::ConnectionRow>& rows) {
    std::vector<std::string> texts;
    for (const auto& row : rows) {
        texts.push_back(row.id.text());
    }
    return texts;
}

std::vector<std::uint32_t> every_bucket() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
        all.push_back(bucket);
    }
    return all;
}

core::Owner nobody(core::DesiredState desired, const std::string& id) {
    return core::Owner::nobody(desired, core::bucket_of(ConnectionId{id}, buckets));
}

core::SessionRow StoreContract::join(const std::string& id) {
    const auto outcome = store_(store_->join({.row = session_row(id)}, store_.soon()));
    invariant(outcome.verdict == core::Verdict::done, "the session joins");
    return *outcome.row;
}

core::ConnectionRow StoreContract::put(const std::string& id, core::DesiredState desired, core::Labels labels) {
    PutConnection verb{.id = ConnectionId{id}, .labels = std::move(labels), .spec = R"({"url":"wss://example.test/"})"};
    verb.desired = desired;
    const auto outcome = store_(store_->put_connection(std::move(verb), store_.soon()));
    invariant(outcome.verdict == core::Verdict::done, "the connection is put");
    return *outcome.row;
}

core::ConnectionRow StoreContract::claimed(const std::string& id, const std::string& session) {
    const auto outcome = claim(claim_of(put(id), session));
    invariant(outcome.verdict == core::Verdict::done, "the connection is claimed");
    return *outcome.row;
}

core::ConnectionRow StoreContract::get(const std::string& id) {
    const auto rows = store_(store_->get_connections({ConnectionId{id}}, store_.soon()));
    invariant(rows.has_value() && rows->size() == 1, "the connection is there");
    return rows->front();
}

core::ConnectionRow StoreContract::set_desired(const std::string& id, core::DesiredState desired) {
    const auto outcome = store_(store_->set_desired(ConnectionId{id}, desired, store_.soon()));
    invariant(outcome.verdict == core::Verdict::done, "the desired state is set");
    return *outcome.row;
}

StoreContract::Connection StoreContract::claim(const core::Claim& verb) {
    const auto outcomes = store_(store_->claim({verb}, store_.soon()));
    invariant(outcomes.size() == 1, "one outcome per item");
    return outcomes.front();
}

StoreContract::Connection StoreContract::release(const core::Release& verb) {
    const auto outcomes = store_(store_->release({verb}, store_.soon()));
    invariant(outcomes.size() == 1, "one outcome per item");
    return outcomes.front();
}

std::vector<std::string> StoreContract::unowned(std::vector<std::uint32_t> buckets_asked) {
    const auto page = store_(store_->list_unowned(std::move(buckets_asked), ConnectionId{}, 1000, store_.soon()));
    invariant(page.has_value(), "the unowned rows can be read");
    return ids(page->rows);
}

}  // namespace longhold::store::contract
