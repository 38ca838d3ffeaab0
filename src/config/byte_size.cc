// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/byte_size.h>

#include <array>
#include <charconv>
#include <limits>

namespace longhold::config {
namespace {

struct Unit {
    std::string_view suffix;
    std::uint64_t bytes;
};

constexpr std::array<Unit, 8> units{{{"GiB", 1024 * mebibyte},
                                     {"MiB", mebibyte},
                                     {"KiB", kibibyte},
                                     {"GB", 1'000'000'000},
                                     {"MB", 1'000'000},
                                     {"kB", 1'000},
                                     {"B", 1},
                                     {"", 1}}};

std::unexpected<std::string> fail(std::string_view text, const std::string& why) {
    return std::unexpected("\"" + std::string{text} + "\" is no size: " + why + "; write it like 64MiB, 500kB or 4096");
}

}  // namespace

std::expected<ByteSize, std::string> parse_byte_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) {
        return fail(text, "it is too large");
    }
    if (error != std::errc{}) {
        return fail(text, "a whole number is expected first");
    }
    std::string_view suffix = text.substr(static_cast<std::size_t>(after - text.data()));
    if (suffix.starts_with(' ')) {
        suffix.remove_prefix(1);
    }
    for (const Unit& unit : units) {
        if (unit.suffix != suffix) {
            continue;
        }
        if (number > std::numeric_limits<std::uint64_t>::max() / unit.bytes) {
            return fail(text, "it is too large");
        }
        return ByteSize{number * unit.bytes};
    }
    return fail(text, "the unit \"" + std::string{suffix} + "\" is not one of B, kB, MB, GB, KiB, MiB, GiB");
}

std::string format_byte_size(ByteSize size) {
    for (std::size_t i = 0; i < 3; ++i) {
        if (size.bytes != 0 && size.bytes % units[i].bytes == 0) {
            return std::to_string(size.bytes / units[i].bytes) + std::string{units[i].suffix};
        }
    }
    return std::to_string(size.bytes) + "B";
}

}  // namespace longhold::config
