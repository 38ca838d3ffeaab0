// SPDX-License-Identifier: Apache-2.0
// parse_duration() takes any text; what it takes, format_duration() writes so that it is read back.
#include <longhold/base/duration_text.h>
#include <longhold/base/invariant.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    if (const auto duration = longhold::parse_duration(text)) {
        const auto again = longhold::parse_duration(longhold::format_duration(*duration));
        longhold::invariant(again.has_value() && *again == *duration, "a duration's text is read back");
    }
    return 0;
}
