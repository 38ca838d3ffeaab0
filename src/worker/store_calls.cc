// SPDX-License-Identifier: Apache-2.0
#include "store_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace longhold::worker {
namespace {

core::RowsRead rows_of(store::ConnectionPage page) {
    return core::RowsRead{std::move(page.rows), page.more};
}

// How the metrics count an answer; a batch counts as its worst item.
std::string_view outcome_of(const core::Answer& answer) {
    const auto name = [](core::Verdict verdict) {
        switch (verdict) {
            case core::Verdict::done:
                return std::string_view{"done"};
            case core::Verdict::refused:
                return std::string_view{"refused"};
            case core::Verdict::unknown:
                return std::string_view{"unknown"};
        }
        std::unreachable();
    };
    if (std::holds_alternative<core::ReadFailed>(answer)) {
        return "failed";
    }
    if (const auto* session = std::get_if<core::Outcome<core::SessionRow>>(&answer)) {
        return name(session->verdict);
    }
    if (const auto* batch = std::get_if<std::vector<core::Outcome<core::ConnectionRow>>>(&answer)) {
        auto worst = core::Verdict::done;
        for (const auto& outcome : *batch) {
            worst = std::max(worst, outcome.verdict);
        }
        return name(worst);
    }
    return "done";
}

}  // namespace

std::string_view verb_of(const core::Request& request) {
    constexpr std::array<std::string_view, std::variant_size_v<core::Request>> names{
        "join",    "beat",         "leave",      "fence",    "remove_session",  "list_sessions", "get_session", "claim",
        "release", "list_unowned", "list_owned", "list_all", "get_connections", "read_takeover", "get_sessions"};
    return names[request.index()];
}

runtime::Task<core::Answer> StoreCalls::perform(core::Request request, Instant deadline) {
    const std::string verb{verb_of(request)};
    const Instant began = clock_.now();
    core::Answer result = co_await answer(std::move(request), deadline);
    metrics_.histogram("longhold_store_request_seconds", {{"verb", verb}}).observe(clock_.now() - began);
    metrics_.counter("longhold_store_requests_total", {{"outcome", std::string{outcome_of(result)}}, {"verb", verb}})
        .add();
    co_return result;
}

runtime::Task<core::Answer> StoreCalls::answer(core::Request request, Instant deadline) {
    if (auto* join = std::get_if<core::Join>(&request)) {
        auto outcome = co_await store_.join(std::move(*join), deadline);
        co_return outcome;
    }
    if (auto* beat = std::get_if<core::Beat>(&request)) {
        auto outcome = co_await store_.beat(std::move(*beat), deadline);
        co_return outcome;
    }
    if (auto* leave = std::get_if<core::Leave>(&request)) {
        auto outcome = co_await store_.leave(std::move(*leave), deadline);
        co_return outcome;
    }
    if (auto* fence = std::get_if<core::Fence>(&request)) {
        auto outcome = co_await store_.fence(std::move(*fence), deadline);
        co_return outcome;
    }
    if (auto* remove = std::get_if<core::RemoveSession>(&request)) {
        auto outcome = co_await store_.remove_session(std::move(*remove), deadline);
        co_return outcome;
    }
    if (auto* claims = std::get_if<core::Claims>(&request)) {
        auto outcomes = co_await store_.claim(std::move(claims->items), deadline);
        co_return outcomes;
    }
    if (auto* releases = std::get_if<core::Releases>(&request)) {
        auto outcomes = co_await store_.release(std::move(releases->items), deadline);
        co_return outcomes;
    }
    auto read = co_await answer_read(std::move(request), deadline);
    co_return read;
}

runtime::Task<core::Answer> StoreCalls::answer_read(core::Request request, Instant deadline) {
    if (std::holds_alternative<core::ListSessions>(request)) {
        auto read = co_await store_.list_sessions(deadline);
        if (read) {
            co_return core::SessionsRead{std::move(*read)};
        }
        co_return core::ReadFailed{};
    }
    if (auto* get = std::get_if<core::GetSession>(&request)) {
        auto read = co_await store_.get_session(get->session, deadline);
        if (read) {
            co_return core::SessionRead{std::move(*read)};
        }
        co_return core::ReadFailed{};
    }
    if (auto* get = std::get_if<core::GetSessions>(&request)) {
        auto read = co_await store_.get_sessions(std::move(get->ids), deadline);
        if (read) {
            co_return core::SessionsRead{std::move(*read)};
        }
        co_return core::ReadFailed{};
    }
    if (auto* get = std::get_if<core::GetConnections>(&request)) {
        auto read = co_await store_.get_connections(std::move(get->ids), deadline);
        if (read) {
            co_return core::RowsRead{std::move(*read), false};
        }
        co_return core::ReadFailed{};
    }
    if (auto* takeover = std::get_if<core::ReadTakeover>(&request)) {
        auto read = co_await takeovers_.read(takeover->session, deadline);
        if (read) {
            co_return std::move(*read);
        }
        co_return core::ReadFailed{};
    }
    auto read = co_await answer_page(std::move(request), deadline);
    co_return read;
}

runtime::Task<core::Answer> StoreCalls::answer_page(core::Request request, Instant deadline) {
    store::Result<store::ConnectionPage> page = std::unexpected(store::Error{});
    if (auto* unowned = std::get_if<core::ListUnowned>(&request)) {
        page = co_await store_.list_unowned(std::move(unowned->buckets), unowned->after, page_size_, deadline);
    } else if (auto* owned = std::get_if<core::ListOwned>(&request)) {
        page = co_await store_.list_owned(owned->session, owned->after, page_size_, deadline);
    } else if (auto* all = std::get_if<core::ListAll>(&request)) {
        page = co_await store_.list_connections({}, true, all->after, page_size_, deadline);
    }
    if (page) {
        co_return rows_of(std::move(*page));
    }
    co_return core::ReadFailed{};
}

}  // namespace longhold::worker
