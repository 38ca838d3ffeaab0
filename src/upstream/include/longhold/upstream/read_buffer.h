// SPDX-License-Identifier: Apache-2.0
// SharedReadBuffer: the one buffer into which all connections of a loop read, one after another.
#pragma once

#include <longhold/base/invariant.h>

#include <cstddef>
#include <memory>
#include <span>

namespace longhold::upstream {

// Thread-safety: none; each loop owns one. Used only between two turns of the loop, never across a co_await.
class SharedReadBuffer {
public:
    static constexpr std::size_t size_default = std::size_t{64} << 10U;
    static constexpr std::size_t size_max = std::size_t{256} << 10U;

    // Requires 1 to size_max bytes.
    explicit SharedReadBuffer(std::size_t size = size_default) : size_(size), bytes_(std::make_unique<char[]>(size)) {
        invariant(size > 0 && size <= size_max, "the read buffer's size is in its range");
    }

    // The right to the buffer, for one turn.
    class Use {
    public:
        explicit Use(SharedReadBuffer& buffer) : buffer_(buffer) {
            invariant(!buffer_.used_, "one connection at a time uses the read buffer");
            buffer_.used_ = true;
        }

        ~Use() { buffer_.used_ = false; }

        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        [[nodiscard]] std::span<char> bytes() const { return {buffer_.bytes_.get(), buffer_.size_}; }

    private:
        SharedReadBuffer& buffer_;
    };

private:
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;
    bool used_ = false;
};

}  // namespace longhold::upstream
