// SPDX-License-Identifier: Apache-2.0
// The conditions of every verb as pure functions: the row after the verb, or nothing where it is refused.
//
// For stores that read, decide and write a row inside one transaction.
#pragma once

#include <longhold/core/verbs.h>
#include <longhold/store/store.h>

#include <optional>

namespace longhold::store::rules {

[[nodiscard]] std::optional<core::SessionRow> after(const core::Beat& verb, core::SessionRow row);
[[nodiscard]] std::optional<core::SessionRow> after(const core::Leave& verb, core::SessionRow row);
[[nodiscard]] std::optional<core::SessionRow> after(const core::Fence& verb, std::optional<core::SessionRow> row);
[[nodiscard]] std::optional<core::SessionRow> after_drain_request(core::SessionRow row);

[[nodiscard]] std::optional<core::ConnectionRow> after(const core::Claim& verb, core::ConnectionRow row, WallTime now);
[[nodiscard]] std::optional<core::ConnectionRow> after(const core::Release& verb, core::ConnectionRow row,
                                                       std::uint32_t buckets, WallTime now);

// A verb that changes nothing gives the row as it is, `updated_at` too.
[[nodiscard]] std::optional<core::ConnectionRow> after(const PutConnection& verb,
                                                       const std::optional<core::ConnectionRow>& row,
                                                       const StoreInfo& info, WallTime now);
[[nodiscard]] std::optional<core::ConnectionRow> after_desired(core::DesiredState desired, core::ConnectionRow row,
                                                               std::uint32_t buckets, WallTime now);

// Whether each pair of `selector` is among `labels`.
[[nodiscard]] bool selects(const Selector& selector, const core::Labels& labels);

}  // namespace longhold::store::rules
