// SPDX-License-Identifier: Apache-2.0
// Connection rows: reading many, and showing them.
#pragma once

#include <longhold/config/connection_document.h>
#include <longhold/core/rows.h>
#include <longhold/runtime/task.h>
#include <longhold/store/store.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command_settings.h"

namespace longhold::app {

// The worker of each session, by the session's id.
using Workers = std::map<std::string, std::string, std::less<>>;

// `store` and `context` outlive the task.
[[nodiscard]] runtime::Task<store::Result<Workers>> read_workers(store::Store& store, Context& context);

// One line of JSON with everything that a row says; with `workers`, the owner's worker too.
[[nodiscard]] std::string row_json(const core::ConnectionRow& row, const Workers* workers = nullptr);
// One line of JSON as `connection import` reads it.
[[nodiscard]] std::string row_document(const core::ConnectionRow& row);
// "a=1,b=2"; "-" for none.
[[nodiscard]] std::string labels_text(const core::Labels& labels);
// "worker (session)" of who owns the row, the session alone where its worker is not known; "-" for none.
[[nodiscard]] std::string owner_text(const core::ConnectionRow& row, const Workers& workers);
// "epoch/ordinal value"; "-" for none.
[[nodiscard]] std::string cursor_text(const core::ConnectionRow& row);

// Labels of `--selector`. Errors are printed; nothing then.
[[nodiscard]] std::optional<core::Labels> labels_of(const Arguments& arguments, std::string_view option,
                                                    Context& context);

// Takes rows page by page.
using PageReceiver = std::function<void(const std::vector<core::ConnectionRow>& rows)>;

inline constexpr std::uint64_t all_rows = std::numeric_limits<std::uint64_t>::max();

// Gives every row that is no tombstone and that `selector` lets through to `receiver`, at most `limit`. `store`,
// `context` and what `receiver` refers to outlive the task.
[[nodiscard]] runtime::Task<store::Result<void>> for_each_row(store::Store& store, Context& context,
                                                              core::Labels selector, std::uint64_t limit,
                                                              PageReceiver receiver);

}  // namespace longhold::app
