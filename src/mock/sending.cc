// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/wall_time_text.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "frames.h"
#include "server.h"

namespace longhold::mock {
namespace {

constexpr int batches_max = 4;                     // of one socket in a turn
constexpr std::size_t one_byte_writes_max = 1024;  // of one socket in a turn
constexpr std::size_t kept_bytes_max = 4096;       // of an empty buffer
constexpr Duration send_every_least = std::chrono::milliseconds{1};
constexpr Duration pace_every = std::chrono::milliseconds{10};

std::string_view garbage_bytes(Garbage garbage) {
    using namespace std::string_view_literals;
    switch (garbage) {
        case Garbage::reserved_bit:
            return "\xc1\x02hi"sv;
        case Garbage::opcode:
            return "\x83\x02hi"sv;
        case Garbage::masked:
            return "\x81\x82\x01\x02\x03\x04\x69\x6b"sv;
        case Garbage::text:
            return "\x81\x02\xc3\x28"sv;
        case Garbage::long_ping:
            return "\x89\x7e\x00\x7e"sv;
    }
    return {};
}

}  // namespace

void Server::pump(Socket& socket, Instant now) {
    if (socket.is_dead || socket.half_open) {
        return;
    }
    if (flush(socket, now) == Flushed::dead) {
        return;
    }
    if (socket.phase == Phase::lingering && socket.unsent() == 0 && !socket.shut_down) {
        socket.shut_down = true;
        ::shutdown(socket.descriptor, SHUT_WR);
    }
    if (socket.phase != Phase::open) {
        return;
    }
    std::uint64_t count = 1;
    for (int i = 0; i < batches_max && count > 0; ++i) {
        if (!strike(socket, now) || socket.unsent() > 0) {
            return;
        }
        count = append_messages(socket, now, options_.buffer_bytes_max);
        send(socket, scratch_);
        if (socket.is_dead) {
            return;
        }
    }
    if (count > 0) {
        // Still behind: the others have their turn first.
        schedule(socket, now + Duration{1});
    } else if (const auto due = socket.feed->due(socket.next_seq)) {
        schedule(socket, std::max(*due, now + send_every_least));
    }
}

bool Server::strike(Socket& socket, Instant now) {
    Feed& feed = *socket.feed;
    if (feed.faults().empty()) {
        return true;
    }
    if (feed.lasting(FaultKind::half_open, socket.sent) != nullptr) {
        socket.half_open = true;
        watch(socket);
        return false;
    }
    if (feed.lasting(FaultKind::mute, socket.sent) != nullptr) {
        return false;
    }
    if (feed.take(FaultKind::drop, socket.sent)) {
        close(socket, CloseHow::dropped, true);
        return false;
    }
    if (const auto fault = feed.take(FaultKind::close, socket.sent)) {
        start_close(socket, static_cast<std::uint16_t>(fault->value), "as told");
        return false;
    }
    if (const auto fault = feed.take(FaultKind::garbage, socket.sent)) {
        send(socket, garbage_bytes(static_cast<Garbage>(fault->value)));
    }
    if (!socket.is_dead) {
        if (const auto fault = feed.take(FaultKind::oversize, socket.sent)) {
            socket.oversize = fault->value;
        }
        if (const auto fault = feed.take(FaultKind::restart_sequence, socket.sent)) {
            restart(feed, static_cast<Restart>(fault->value), now);
        }
    }
    return !socket.is_dead;
}

std::uint64_t Server::append_messages(Socket& socket, Instant now, std::size_t bytes_max) {
    Feed& feed = *socket.feed;
    const bool is_binary = feed.lasting(FaultKind::binary, socket.sent) != nullptr;
    const std::uint64_t most = feed.until_fault(socket.sent);
    std::array<char, rfc3339_length> sent_at{};
    format_rfc3339(clock_.wall_now(), sent_at.data());
    auto& sent = feed.intervals[socket.interval].sent;
    scratch_.clear();
    std::uint64_t head = feed.head(socket.stream, now);
    std::uint64_t count = 0;
    while (count < most && scratch_.size() < bytes_max) {
        if (socket.next_seq > head) {
            if (socket.stream == feed.stream()) {
                break;
            }
            ++socket.stream;
            socket.next_seq = 1;
            head = feed.head(socket.stream, now);
            continue;
        }
        append_message(socket, is_binary, std::string_view{sent_at.data(), sent_at.size()});
        if (sent.empty() || sent.back().stream != socket.stream) {
            sent.push_back(Sent{.stream = socket.stream, .first = socket.next_seq});
        }
        sent.back().last = socket.next_seq++;
        ++sent.back().count;
        ++count;
    }
    socket.sent += count;
    return count;
}

void Server::append_message(Socket& socket, bool is_binary, std::string_view sent_at) {
    std::array<char, 20> digits{};
    const auto* const digits_end = std::to_chars(digits.data(), digits.data() + digits.size(), socket.next_seq).ptr;
    const std::string_view seq{digits.data(), static_cast<std::size_t>(digits_end - digits.data())};
    constexpr std::string_view open = R"({"seq":)";
    constexpr std::string_view middle = R"(,"sent_at":")";
    constexpr std::string_view pad = R"(,"pad":")";
    std::size_t size = open.size() + seq.size() + middle.size() + sent_at.size() + 2;
    const std::size_t wanted = socket.oversize > 0 ? socket.oversize : options_.message_bytes;
    socket.oversize = 0;
    const bool is_padded = wanted > size + pad.size();
    const std::size_t padding = is_padded ? wanted - size - pad.size() - 1 : 0;
    size += is_padded ? pad.size() + padding + 1 : 0;
    append_header(scratch_, is_binary ? Opcode::binary : Opcode::text, size);
    scratch_.append(open).append(seq).append(middle).append(sent_at).append("\"");
    if (is_padded) {
        scratch_.append(pad).append(padding, 'x').append("\"");
    }
    scratch_ += '}';
}

void Server::start_close(Socket& socket, std::uint16_t code, std::string_view reason) {
    append_close(socket.out, code, reason);
    socket.phase = Phase::closing;
    socket.deadline = clock_.now() + options_.close_wait;
    schedule(socket, socket.deadline);
    pump(socket, clock_.now());
}

void Server::restart(Feed& feed, Restart mode, Instant now) {
    feed.restart(now);
    if (mode == Restart::drop) {
        const std::vector<Socket*> sockets = feed.live;
        for (Socket* socket : sockets) {
            close(*socket, CloseHow::dropped, true);
        }
    }
}

void Server::send(Socket& socket, std::string_view bytes) {
    const bool is_paced = socket.phase == Phase::open && !socket.feed->faults().empty();
    std::size_t written = 0;
    if (socket.unsent() == 0 && !is_paced) {
        if (write_now(socket, bytes, written) == Flushed::dead) {
            close(socket, CloseHow::reset);
            return;
        }
    }
    if (written < bytes.size()) {
        socket.out.append(bytes.substr(written));
        unsent_max_ = std::max(unsent_max_, socket.unsent());
        [[maybe_unused]] const auto flushed = flush(socket, clock_.now());
    }
}

Server::Flushed Server::flush(Socket& socket, Instant now) {
    std::size_t allowed = socket.unsent();
    const bool is_open = socket.phase == Phase::open;
    if (const Fault* slow = is_open ? socket.feed->lasting(FaultKind::slow, socket.sent) : nullptr; slow != nullptr) {
        const auto rate = static_cast<double>(slow->value);
        const double seconds = std::chrono::duration<double>(now - socket.paced_at).count();
        socket.paced_bytes = std::min(socket.paced_bytes + seconds * rate, std::max(rate / 10, 1.0));
        socket.paced_at = now;
        allowed = std::min(allowed, static_cast<std::size_t>(socket.paced_bytes));
    }
    const bool one_byte = is_open && socket.feed->lasting(FaultKind::one_byte, socket.sent) != nullptr;
    allowed = one_byte ? std::min(allowed, one_byte_writes_max) : allowed;
    const std::size_t step = one_byte ? 1 : std::max<std::size_t>(allowed, 1);
    std::size_t total = 0;
    Flushed result = Flushed::all;
    while (total < allowed && result == Flushed::all) {
        std::size_t written = 0;
        result = write_now(socket, std::string_view{socket.out}.substr(socket.out_at, std::min(step, allowed - total)),
                           written);
        socket.out_at += written;
        total += written;
    }
    if (result == Flushed::dead) {
        close(socket, CloseHow::reset);
        return result;
    }
    socket.paced_bytes -= std::min(socket.paced_bytes, static_cast<double>(total));
    if (socket.unsent() == 0) {
        socket.out.clear();
        socket.out_at = 0;
        if (socket.out.capacity() > kept_bytes_max) {
            std::string{}.swap(socket.out);
        }
    } else if (result == Flushed::all) {
        schedule(socket, now + pace_every);
    }
    if (socket.wants_write != (result == Flushed::some)) {
        socket.wants_write = result == Flushed::some;
        watch(socket);
    }
    return result;
}

Server::Flushed Server::write_now(Socket& socket, std::string_view bytes, std::size_t& written) const {
    while (written < bytes.size()) {
        const auto sent = ::send(socket.descriptor, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL);
        if (sent >= 0) {
            written += static_cast<std::size_t>(sent);
        } else if (errno == EAGAIN) {
            return Flushed::some;
        } else if (errno != EINTR) {
            return Flushed::dead;
        }
    }
    return Flushed::all;
}

}  // namespace longhold::mock
