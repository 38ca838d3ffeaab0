// SPDX-License-Identifier: Apache-2.0
// The least that a receiving client can do: epoll, recv, walk the frames, validate UTF-8. The yardstick of codec_bench.
#pragma once

#include <cstdint>
#include <string>

namespace longhold::bench {

struct Measured {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  // of payload
    double seconds = 0;
    double cpu_seconds = 0;  // of this process, kernel included; 0 where it is not known

    [[nodiscard]] double cpu_nanoseconds() const {
        return messages > 0 ? cpu_seconds * 1e9 / static_cast<double>(messages) : 0;
    }

    [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0; }
};

// Processor time that this process has used.
double cpu_seconds_used();

// Receives from the blasting server at `url` for about `seconds`.
Measured run_bare_client(const std::string& url, double seconds);

}  // namespace longhold::bench
