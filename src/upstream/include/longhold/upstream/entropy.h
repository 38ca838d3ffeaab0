// SPDX-License-Identifier: Apache-2.0
// Entropy: where mask keys and handshake nonces come from.
//
// RFC 6455 (section 10.3) wants mask keys that nobody can foresee, so that no payload can be made to look like a
// request to a proxy on the way. Thread-safety: none; each loop owns one.
#pragma once

#include <longhold/base/random.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace longhold::upstream {

class Entropy {
public:
    virtual ~Entropy() = default;
    [[nodiscard]] virtual std::uint32_t next() = 0;
};

// OpenSSL's generator, drawn from in blocks.
class SystemEntropy final : public Entropy {
public:
    [[nodiscard]] std::uint32_t next() override;

private:
    std::array<std::uint32_t, 64> block_{};
    std::size_t used_ = 64;
};

// Numbers that a seed replays. For tests and simulations only.
class SeededEntropy final : public Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::uint32_t next() override { return static_cast<std::uint32_t>(random_.next() >> 32U); }

private:
    Random random_;
};

}  // namespace longhold::upstream
