// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/suggestion.h>

#include <algorithm>
#include <vector>

namespace longhold::config {
namespace {

// Optimal string alignment distance, by rows.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        std::swap(before_last, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

// "lease.duration" -> "duration"
std::string_view last_part(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    const std::size_t allowed = std::max<std::size_t>(2, word.size() / 3);
    std::optional<std::string> best;
    std::size_t best_distance = allowed + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t found = distance(word, candidate);
        if (found < best_distance && found < word.size()) {
            best = candidate;
            best_distance = found;
        }
    }
    if (best) {
        return best;
    }
    for (const std::string& candidate : candidates) {  // the right name in a wrong section
        if (last_part(candidate) == last_part(word)) {
            return candidate;
        }
    }
    return std::nullopt;
}

}  // namespace longhold::config
