// SPDX-License-Identifier: Apache-2.0
// Transport: the bytes of one connected socket, plain or TLS, without blocking and without a buffer of its own.
//
// Built on readiness: whoever is told that a socket is readable reads it at once into a buffer that all connections of
// the loop share, so that an idle connection holds no buffer. Made by dial.cc. Thread-safety: none; lives on its loop's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longhold::upstream {

// Who is told of a socket's readiness. May be told too often: try, then wait again.
class ReadinessListener {
public:
    virtual ~ReadinessListener() = default;
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;
};

enum class IoStatus : std::uint8_t { done, would_block, ended, failed };

struct IoResult {
    IoStatus status = IoStatus::done;
    std::size_t bytes = 0;  // of `done`: at least 1
};

class Transport {
public:
    // Closes the socket if it is open.
    virtual ~Transport() = default;

    [[nodiscard]] virtual IoResult read_now(std::span<char> buffer) = 0;
    // After would_block the same bytes must be written next. Requires a text that is not empty.
    [[nodiscard]] virtual IoResult write_now(std::string_view bytes) = 0;

    // Calls the listener's on_readable() or on_writable() once, from the loop, when trying again makes sense. Not again
    // before that call has come.
    virtual void await_readable() = 0;
    virtual void await_writable() = 0;

    // Tells the peer that nothing more will be sent, without waiting.
    virtual void end_writing() = 0;
    // Closes the socket so that the peer gets a reset and what is queued is dropped.
    virtual void reset() = 0;

    // What the last `failed` was, for people.
    [[nodiscard]] virtual std::string failure() const = 0;
};

}  // namespace longhold::upstream
