// SPDX-License-Identifier: Apache-2.0
// Socket: one non-blocking TCP socket with its place in the abort table. The only file pair that makes and closes
// sockets.
#pragma once

#include <longhold/runtime/abort_table.h>
#include <longhold/runtime/loop.h>
#include <longhold/upstream/transport.h>
#include <sys/socket.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <expected>
#include <memory>
#include <string>

namespace longhold::upstream {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    // As in "127.0.0.1:80" and "[::1]:80".
    [[nodiscard]] std::string text() const;
};

class Socket {
public:
    // Opens a socket, enters it in `table`, and starts to connect it. Errors: a sentence for people.
    [[nodiscard]] static std::expected<std::unique_ptr<Socket>, std::string> connect(
        runtime::Loop& loop, runtime::AbortTable& table, std::uint32_t group, const Address& address,
        Duration unacknowledged_max, std::weak_ptr<ReadinessListener> listener);

    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    // How the connect stands: would_block, done, or failed.
    [[nodiscard]] IoStatus connect_status();

    [[nodiscard]] IoResult read_now(std::span<char> buffer);
    [[nodiscard]] IoResult write_now(std::string_view bytes);

    // Calls on_readable() (`tell_readable`) or on_writable() when the socket is readable or writable.
    void await_readable(bool tell_readable);
    void await_writable(bool tell_readable);
    // Calls on_readable() from the loop in any case.
    void post_readable();

    void end_writing();
    void reset();

    [[nodiscard]] const std::string& failure() const { return failure_; }

private:
    using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

    Socket(runtime::Loop& loop, runtime::AbortTable& table, int descriptor, runtime::AbortTable::Slot slot,
           std::weak_ptr<ReadinessListener> listener);
    void await(Descriptor::wait_type what, bool tell_readable);
    IoResult fail(int error);
    void close();

    runtime::AbortTable& table_;
    Descriptor descriptor_;
    runtime::AbortTable::Slot slot_;
    std::weak_ptr<ReadinessListener> listener_;
    std::string failure_;
};

}  // namespace longhold::upstream
