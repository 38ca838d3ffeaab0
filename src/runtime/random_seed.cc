// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/runtime/random_seed.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace longhold::runtime {
namespace {

// Fills `size` bytes. Requires size <= 256, for which getrandom(2) never returns a part.
void fill(void* out, std::size_t size) {
    ssize_t got = -1;
    do {
        got = ::getrandom(out, size, 0);
    } while (got < 0 && errno == EINTR);
    invariant(got == static_cast<ssize_t>(size), "the kernel has a random source");
}

}  // namespace

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    fill(&seed, sizeof seed);
    return seed;
}

std::string fresh_id() {
    constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    constexpr std::size_t length = 26;  // 26 * 5 = 130 bits; the first character carries three
    std::array<unsigned char, 16> bits{};
    fill(bits.data(), bits.size());
    std::string id;
    id.reserve(length);
    std::uint32_t pending = 0;
    unsigned pending_bits = 2;  // two leading zero bits
    for (const unsigned char byte : bits) {
        pending = pending << 8U | byte;
        pending_bits += 8;
        while (pending_bits >= 5) {
            pending_bits -= 5;
            id.push_back(alphabet[pending >> pending_bits & 31U]);
        }
        pending &= (1U << pending_bits) - 1;
    }
    return id;
}

}  // namespace longhold::runtime
