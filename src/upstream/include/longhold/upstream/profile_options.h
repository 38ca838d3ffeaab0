// SPDX-License-Identifier: Apache-2.0
// What a connection is dialled with, from a resolved profile.
#pragma once

#include <longhold/config/profile.h>
#include <longhold/upstream/connection.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::upstream {

// `cursor`: the text to resume from, absent at a fresh start. Errors: a sentence that says why the URL cannot be
// dialled, without its query.
[[nodiscard]] std::expected<ConnectionOptions, std::string> options_for(const config::ResolvedProfile& resolved,
                                                                        std::string_view connection_id,
                                                                        const std::optional<std::string>& cursor);

}  // namespace longhold::upstream
