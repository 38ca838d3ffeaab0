// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "server.h"

namespace longhold::mock {
namespace {

constexpr int reads_max = 16;  // of one socket in a turn
constexpr std::size_t last_message_bytes = 256;

}  // namespace

void Server::on_readable(Socket& socket) {
    std::array<char, std::size_t{64} << 10U> incoming;  // NOLINT: filled by recv
    for (int i = 0; i < reads_max && !socket.is_dead && !socket.half_open; ++i) {
        const auto got = ::recv(socket.descriptor, incoming.data(), incoming.size(), 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno != EAGAIN) {
                close(socket, CloseHow::reset);
            }
            return;
        }
        if (got == 0) {
            close(socket, socket.phase == Phase::closing ? CloseHow::server_close : CloseHow::eof);
            return;
        }
        take_in(socket, std::span{incoming.data(), static_cast<std::size_t>(got)});
    }
}

void Server::take_in(Socket& socket, std::span<char> bytes) {
    if (socket.phase == Phase::lingering) {
        return;
    }
    // Without a rest from before, frames are taken where they were received, so that an idle socket owns nothing.
    std::string rest = std::move(socket.in);
    socket.in.clear();
    if (!rest.empty()) {
        rest.append(bytes.data(), bytes.size());
        bytes = std::span{rest};
    }
    while (!bytes.empty() && !socket.is_dead && socket.phase != Phase::lingering && !socket.half_open) {
        const std::size_t used = socket.phase == Phase::request ? take_head(socket, bytes) : take_frame(socket, bytes);
        if (used == 0) {
            socket.in.assign(bytes.data(), bytes.size());
            return;
        }
        bytes = bytes.subspan(used);
    }
}

std::size_t Server::take_head(Socket& socket, std::span<char> bytes) {
    const std::string_view text{bytes.data(), bytes.size()};
    const auto end = text.find("\r\n\r\n");
    if (std::min(end, text.size()) > head_bytes_max) {
        answer(socket, 431, "the request's head is larger than 16 KiB\n");
        return bytes.size();
    }
    if (end == std::string_view::npos) {
        return 0;
    }
    const auto request = parse_request(text.substr(0, end));
    if (request) {
        on_request(socket, *request);
    } else {
        answer(socket, request.error().status, request.error().reason + '\n');
    }
    return end + 4;
}

std::size_t Server::take_frame(Socket& socket, std::span<char> bytes) {
    const FrameStep step = take_client_frame(bytes);
    if (step.kind == FrameStep::Kind::incomplete) {
        return 0;
    }
    if (step.kind == FrameStep::Kind::breach) {
        breach(socket, step.code, step.reason);
        return bytes.size();
    }
    const bool is_mute = socket.feed->lasting(FaultKind::mute, socket.sent) != nullptr;
    switch (step.opcode) {
        case Opcode::ping:
            ++socket.feed->intervals[socket.interval].pings;
            if (!is_mute && socket.phase == Phase::open && socket.unsent() <= options_.buffer_bytes_max) {
                std::string pong;
                append_frame(pong, Opcode::pong, step.payload);
                send(socket, pong);
            }
            break;
        case Opcode::pong:
            break;
        case Opcode::close:
            if (!is_mute) {
                on_close_frame(socket, step.payload);
            }
            break;
        default:
            on_data_frame(socket, step.opcode, step.final, step.payload);
    }
    return step.used;
}

void Server::on_data_frame(Socket& socket, Opcode opcode, bool final, std::string_view payload) {
    const bool begins = opcode != Opcode::continuation;
    if (begins == socket.in_message) {
        breach(socket, 1002, begins ? "a message begins inside another" : "nothing is continued");
        return;
    }
    if (begins) {
        socket.message_is_text = opcode == Opcode::text;
        if (final) {
            on_message(socket, payload, socket.message_is_text);
            return;
        }
    }
    if (socket.message.size() + payload.size() > client_message_max) {
        breach(socket, 1009, "a message is larger than 1 MiB");
        return;
    }
    socket.message += payload;
    socket.in_message = !final;
    if (final) {
        const std::string message = std::exchange(socket.message, {});
        on_message(socket, message, socket.message_is_text);
    }
}

void Server::on_message(Socket& socket, std::string_view message, bool is_text) {
    if (is_text && !is_utf8(message)) {
        breach(socket, 1007, "a text message is not UTF-8");
        return;
    }
    Interval& interval = socket.feed->intervals[socket.interval];
    ++interval.messages;
    if (is_text) {
        std::size_t size = std::min(message.size(), last_message_bytes);
        while (size > 0 && size < message.size() && (static_cast<unsigned char>(message[size]) & 0xc0U) == 0x80) {
            --size;
        }
        interval.last_message = message.substr(0, size);
    }
}

void Server::on_close_frame(Socket& socket, std::string_view payload) {
    if (const auto fault = close_payload_fault(payload); !fault.empty()) {
        breach(socket, 1002, fault);
        return;
    }
    const bool was_ours = socket.phase == Phase::closing;
    if (!was_ours) {
        std::string frame;
        append_frame(frame, Opcode::close, payload.substr(0, 2));
        socket.out += frame;
    }
    end_interval(socket, was_ours ? CloseHow::server_close : CloseHow::client_close);
    take_leave(socket);
}

void Server::breach(Socket& socket, std::uint16_t code, std::string_view reason) {
    if (socket.phase == Phase::open) {
        append_close(socket.out, code, reason);
    }
    end_interval(socket, CloseHow::protocol_error);
    take_leave(socket);
}

void Server::settle(Feed& feed) {
    const std::vector<Socket*> sockets = feed.live;
    for (Socket* socket : sockets) {
        if (socket->half_open) {
            pollfd state{.fd = socket->descriptor, .events = POLLRDHUP, .revents = 0};
            if (::poll(&state, 1, 0) > 0) {
                close(*socket, (state.revents & POLLERR) != 0 ? CloseHow::reset : CloseHow::eof);
            }
            continue;
        }
        on_readable(*socket);
    }
}

}  // namespace longhold::mock
