// SPDX-License-Identifier: Apache-2.0
#include "store_url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace longhold::store {
namespace {

constexpr std::uint32_t buckets_max = 1024;
constexpr std::size_t namespace_length_max = 64;

constexpr std::array<std::pair<std::string_view, Scheme>, 2> schemes{
    {{"memory", Scheme::memory}, {"sqlite", Scheme::sqlite}}};

std::unexpected<Error> invalid(std::string detail) {
    return std::unexpected(Error{Errc::invalid, std::move(detail)});
}

bool is_namespace(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !text.empty() && text.size() <= namespace_length_max &&
           text.find_first_not_of(letters) == std::string_view::npos;
}

std::optional<std::string> path_of(std::string_view rest) {
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        if (!rest.starts_with('/')) {
            return std::nullopt;
        }
    }
    if (rest.empty() || rest.ends_with('/') || rest.contains('?') || rest.contains('\0') || rest == ":memory:") {
        return std::nullopt;
    }
    return std::string{rest};
}

}  // namespace

std::vector<std::string> store_schemes() {
    std::vector<std::string> names;
    for (const auto& [name, scheme] : schemes) {
        names.emplace_back(name);
    }
    return names;
}

Result<StoreUrl> parse_store_url(const StoreOptions& options) {
    if (!is_namespace(options.ns)) {
        return invalid("the store namespace \"" + options.ns +
                       "\" must be 1 to 64 letters, digits, dots, underscores or dashes");
    }
    if (options.buckets < 1 || options.buckets > buckets_max) {
        return invalid("a store has 1 to 1024 buckets, not " + std::to_string(options.buckets));
    }
    const std::string_view url = options.url;
    const std::size_t colon = url.find(':');
    const auto* const found =
        std::ranges::find(schemes, url.substr(0, colon), &std::pair<std::string_view, Scheme>::first);
    if (colon == std::string_view::npos || found == schemes.end()) {
        return invalid("the store URL \"" + options.url +
                       "\" begins with no scheme of this build: memory:, sqlite:PATH");
    }
    const std::string_view rest = url.substr(colon + 1);
    if (found->second == Scheme::memory) {
        if (!rest.empty()) {
            return invalid("the store URL \"" + options.url + "\" has words after memory:, which takes none");
        }
        return StoreUrl{};
    }
    auto path = path_of(rest);
    if (!path) {
        return invalid("the store URL \"" + options.url +
                       "\" names no file; write sqlite:PATH or sqlite:///absolute/path, without parameters");
    }
    return StoreUrl{.scheme = Scheme::sqlite, .path = std::move(*path)};
}

}  // namespace longhold::store
