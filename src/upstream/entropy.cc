// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/upstream/entropy.h>
#include <openssl/rand.h>

namespace longhold::upstream {

std::uint32_t SystemEntropy::next() {
    if (used_ == block_.size()) {
        const int drawn = ::RAND_bytes(reinterpret_cast<unsigned char*>(block_.data()), sizeof block_);
        invariant(drawn == 1, "the system's random generator works");
        used_ = 0;
    }
    return block_[used_++];
}

}  // namespace longhold::upstream
