// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/hash.h>
#include <longhold/base/invariant.h>
#include <longhold/core/rows.h>

#include <array>
#include <utility>

namespace longhold::core {
namespace {

constexpr std::string_view wanted_prefix = "none#";
constexpr std::string_view unwanted_prefix = "off#";

constexpr std::array<std::pair<SessionState, std::string_view>, 4> session_states{{{SessionState::active, "ACTIVE"},
                                                                                   {SessionState::draining, "DRAINING"},
                                                                                   {SessionState::left, "LEFT"},
                                                                                   {SessionState::fenced, "FENCED"}}};
constexpr std::array<std::pair<DesiredState, std::string_view>, 3> desired_states{
    {{DesiredState::started, "STARTED"}, {DesiredState::stopped, "STOPPED"}, {DesiredState::deleted, "DELETED"}}};

template <class Table, class Key>
std::string_view text_in(const Table& table, Key key) {
    for (const auto& [value, name] : table) {
        if (value == key) {
            return name;
        }
    }
    std::unreachable();
}

template <class Value, std::size_t size>
std::optional<Value> value_in(const std::array<std::pair<Value, std::string_view>, size>& table,
                              std::string_view text) {
    for (const auto& [value, name] : table) {
        if (name == text) {
            return value;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view text(SessionState state) {
    return text_in(session_states, state);
}

std::optional<SessionState> session_state(std::string_view text) {
    return value_in(session_states, text);
}

std::string_view text(DesiredState state) {
    return text_in(desired_states, state);
}

std::optional<DesiredState> desired_state(std::string_view text) {
    return value_in(desired_states, text);
}

bool further(const std::optional<Cursor>& a, const std::optional<Cursor>& b) {
    return a && (!b || further(*a, *b));
}

Owner Owner::session(const SessionId& id) {
    Owner owner{id.text()};
    invariant(owner.is_session(), "a session id is not empty and no bucket's name");
    return owner;
}

Owner Owner::nobody(DesiredState desired, std::uint32_t bucket) {
    std::string text{desired == DesiredState::started ? wanted_prefix : unwanted_prefix};
    if (bucket < 10) {
        text += '0';
    }
    return Owner{text + std::to_string(bucket)};
}

Owner Owner::from_text(std::string text) {
    return Owner{std::move(text)};
}

bool Owner::is_session() const {
    return !text_.empty() && !text_.starts_with(wanted_prefix) && !text_.starts_with(unwanted_prefix);
}

SessionId Owner::session_id() const {
    return is_session() ? SessionId{text_} : SessionId{};
}

std::uint32_t bucket_of(const ConnectionId& id, std::uint32_t buckets) {
    invariant(buckets > 0, "a store has at least one bucket");
    return static_cast<std::uint32_t>(stable_hash(id.text()) % buckets);
}

}  // namespace longhold::core
