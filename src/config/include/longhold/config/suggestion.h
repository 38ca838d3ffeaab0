// SPDX-License-Identifier: Apache-2.0
// What a person may have meant by a word that is not known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhold::config {

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours), where it is small enough
// for a slip: at most a third of the word's length, and at least 2. The first of equals.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace longhold::config
