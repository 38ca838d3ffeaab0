// SPDX-License-Identifier: Apache-2.0
#include "transports.h"

namespace longhold::upstream {
namespace {

class PlainTransport final : public Transport {
public:
    explicit PlainTransport(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}

    IoResult read_now(std::span<char> buffer) override { return socket_->read_now(buffer); }

    IoResult write_now(std::string_view bytes) override { return socket_->write_now(bytes); }

    void await_readable() override { socket_->await_readable(true); }

    void await_writable() override { socket_->await_writable(false); }

    void end_writing() override { socket_->end_writing(); }

    void reset() override { socket_->reset(); }

    [[nodiscard]] std::string failure() const override { return socket_->failure(); }

private:
    std::unique_ptr<Socket> socket_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(std::unique_ptr<Socket> socket) {
    return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace longhold::upstream
