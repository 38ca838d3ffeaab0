// SPDX-License-Identifier: Apache-2.0
// GuardedFiles: file operations of a thread that may be given up while the kernel does not return.
//
// A write to a dead network disk can block for ever, and close() of the sink must not. So each operation marks that the
// thread is inside it. Who gives the thread up then owns all that the thread owned, for the thread, when it comes back,
// throws Abandoned and touches nothing more. This is the layer's only exception; the thread's main function catches it.
#pragma once

#include <longhold/sink/ndjson/files.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace longhold::sink {

struct Abandoned {};

// Used by the one thread, except for abandon().
class GuardedFiles final : public Files {
public:
    explicit GuardedFiles(Files& files) : files_(files) {}

    // Gives the thread up if it is inside an operation right now. After true the caller owns what was the thread's.
    [[nodiscard]] bool abandon() {
        auto inside = Phase::inside;
        return phase_.compare_exchange_strong(inside, Phase::abandoned, std::memory_order_acq_rel);
    }

    IoResult<int> create(const std::string& path) override {
        return guarded([&] { return files_.create(path); });
    }

    IoResult<int> open_to_read(const std::string& path) override {
        return guarded([&] { return files_.open_to_read(path); });
    }

    IoResult<int> open_to_repair(const std::string& path) override {
        return guarded([&] { return files_.open_to_repair(path); });
    }

    IoResult<bool> lock(int descriptor) override {
        return guarded([&] { return files_.lock(descriptor); });
    }

    IoResult<std::size_t> write(int descriptor, std::string_view text) override {
        return guarded([&] { return files_.write(descriptor, text); });
    }

    IoResult<std::size_t> read(int descriptor, char* out, std::size_t size, std::uint64_t offset) override {
        return guarded([&] { return files_.read(descriptor, out, size, offset); });
    }

    IoResult<std::uint64_t> size(int descriptor) override {
        return guarded([&] { return files_.size(descriptor); });
    }

    IoResult<void> sync(int descriptor) override {
        return guarded([&] { return files_.sync(descriptor); });
    }

    IoResult<void> truncate(int descriptor, std::uint64_t size) override {
        return guarded([&] { return files_.truncate(descriptor, size); });
    }

    // Not guarded: whoever destroys a file closes it, on any thread.
    void close(int descriptor) override { files_.close(descriptor); }

    IoResult<void> remove(const std::string& path) override {
        return guarded([&] { return files_.remove(path); });
    }

    IoResult<std::vector<std::string>> list(const std::string& directory) override {
        return guarded([&] { return files_.list(directory); });
    }

    IoResult<void> sync_directory(const std::string& directory) override {
        return guarded([&] { return files_.sync_directory(directory); });
    }

    IoResult<void> make_directory(const std::string& directory) override {
        return guarded([&] { return files_.make_directory(directory); });
    }

    IoResult<void> check_directory(const std::string& directory) override {
        return guarded([&] { return files_.check_directory(directory); });
    }

private:
    enum class Phase : std::uint8_t { outside, inside, abandoned };

    template <class Operation>
    std::invoke_result_t<Operation> guarded(Operation operation) {
        phase_.store(Phase::inside, std::memory_order_release);
        auto answer = operation();
        auto inside = Phase::inside;
        if (!phase_.compare_exchange_strong(inside, Phase::outside, std::memory_order_acq_rel)) {
            throw Abandoned{};
        }
        return answer;
    }

    Files& files_;
    std::atomic<Phase> phase_{Phase::outside};
};

}  // namespace longhold::sink
