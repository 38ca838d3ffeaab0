// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace longhold::mock {
namespace {

constexpr std::uint64_t listener_token = UINT64_MAX;
constexpr std::uint64_t wake_token = UINT64_MAX - 1;
constexpr Duration request_within = std::chrono::seconds{10};
constexpr Duration accept_pause = std::chrono::milliseconds{100};
constexpr int timeout_ms_max = 60'000;

std::uint64_t token_of(const Socket& socket) {
    return static_cast<std::uint64_t>(socket.generation) << 32U | static_cast<std::uint32_t>(socket.descriptor);
}

void add_to_epoll(int epoll, int descriptor, std::uint64_t token, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

void close_if_open(int descriptor) {
    if (descriptor >= 0) {
        ::close(descriptor);
    }
}

}  // namespace

Server::Server(const MockOptions& options, const runtime::Clock& clock)
    : options_(options),
      clock_(clock),
      started_(clock.now()),
      wall_started_(clock.wall_now()),
      rules_(options.faults) {}

Server::~Server() {
    close_if_open(listener_);
    close_if_open(epoll_);
    close_if_open(wake_);
}

std::expected<void, std::string> Server::listen() {
    const auto failure = [this](std::string_view what) {
        return std::unexpected("cannot listen on " + options_.address + ':' + std::to_string(options_.port) + ": " +
                               std::string{what});
    };
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    if (::inet_pton(AF_INET, options_.address.c_str(), &address.sin_addr) != 1) {
        return failure("it is not an IPv4 address, such as 127.0.0.1");
    }
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 4096) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return failure(std::strerror(errno));
    }
    port_ = ntohs(address.sin_port);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll_ < 0 || wake_ < 0) {
        return failure(std::strerror(errno));
    }
    add_to_epoll(epoll_, listener_, listener_token, EPOLLIN);
    add_to_epoll(epoll_, wake_, wake_token, EPOLLIN);
    return {};
}

void Server::run(const std::atomic<bool>& stopping, void (*on_wake)(void*), void* context) {
    std::array<epoll_event, 512> events{};
    while (!stopping.load(std::memory_order_acquire)) {
        const int count =
            ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms(clock_.now()));
        for (int i = 0; i < count; ++i) {
            const auto& event = events[static_cast<std::size_t>(i)];
            if (event.data.u64 == wake_token) {
                std::uint64_t ignored = 0;
                [[maybe_unused]] const auto read = ::read(wake_, &ignored, sizeof ignored);
                on_wake(context);
            } else if (event.data.u64 == listener_token) {
                accept_all();
            } else {
                on_event(event.data.u64, event.events);
            }
        }
        run_timers(clock_.now());
        dead_.clear();
    }
    close_all();
}

void Server::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Server::accept_all() {
    for (;;) {
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        const int descriptor =
            ::accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                pause_accepting();
            }
            if (errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            return;
        }
        const int on = 1;
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (options_.send_buffer_bytes > 0) {
            ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &options_.send_buffer_bytes, sizeof(int));
        }
        const auto index = static_cast<std::size_t>(descriptor);
        if (sockets_.size() <= index) {
            sockets_.resize(index + 1);
        }
        sockets_[index] = std::make_unique<Socket>();
        Socket& socket = *sockets_[index];
        socket.descriptor = descriptor;
        socket.generation = ++generation_ & 0x7fffffffU;
        socket.remote_port = ntohs(peer.sin_port);
        socket.deadline = clock_.now() + request_within;
        add_to_epoll(epoll_, descriptor, token_of(socket), EPOLLIN | EPOLLRDHUP);
        schedule(socket, socket.deadline);
    }
}

void Server::pause_accepting() {
    // The listener stays readable while descriptors are short: without a pause the loop would spin.
    accepting_ = false;
    accept_again_ = clock_.now() + accept_pause;
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
}

Socket* Server::find(int descriptor, std::uint32_t generation) const {
    const auto index = static_cast<std::size_t>(descriptor);
    if (index >= sockets_.size() || !sockets_[index] || sockets_[index]->generation != generation) {
        return nullptr;
    }
    return sockets_[index].get();
}

void Server::on_event(std::uint64_t token, std::uint32_t events) {
    Socket* socket = find(static_cast<int>(token & 0xffffffffU), static_cast<std::uint32_t>(token >> 32U));
    if (socket == nullptr) {
        return;
    }
    if (socket->half_open && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        close(*socket, (events & EPOLLERR) != 0 ? CloseHow::reset : CloseHow::eof);
        return;
    }
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        on_readable(*socket);
    }
    if (!socket->is_dead && (events & EPOLLOUT) != 0) {
        pump(*socket, clock_.now());
    }
}

int Server::timeout_ms(Instant now) const {
    Instant next = accept_again_;
    if (!timers_.empty()) {
        next = std::min(next, timers_.top().due);
    }
    if (next == Instant::max()) {
        return timeout_ms_max;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, timeout_ms_max));
}

void Server::run_timers(Instant now) {
    if (!accepting_ && now >= accept_again_) {
        accepting_ = true;
        accept_again_ = Instant::max();
        add_to_epoll(epoll_, listener_, listener_token, EPOLLIN);
    }
    while (!timers_.empty() && timers_.top().due <= now) {
        const Timer timer = timers_.top();
        timers_.pop();
        Socket* socket = find(timer.descriptor, timer.generation);
        if (socket != nullptr && socket->timer == timer.due) {
            socket->timer.reset();
            on_timer(*socket, now);
        }
    }
}

void Server::on_timer(Socket& socket, Instant now) {
    if (socket.phase != Phase::open && now >= socket.deadline) {
        close(socket, CloseHow::server_close);
        return;
    }
    if (socket.phase != Phase::open) {
        schedule(socket, socket.deadline);
    }
    pump(socket, now);
}

void Server::schedule(Socket& socket, Instant at) {
    if (socket.timer && *socket.timer <= at) {
        return;
    }
    socket.timer = at;
    timers_.push(Timer{at, socket.descriptor, socket.generation});
}

void Server::watch(Socket& socket) {
    epoll_event event{};
    event.events = EPOLLRDHUP;
    if (!socket.half_open) {
        event.events |= EPOLLIN;
        if (socket.wants_write) {
            event.events |= EPOLLOUT;
        }
    }
    event.data.u64 = token_of(socket);
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket.descriptor, &event);
}

void Server::end_interval(Socket& socket, CloseHow how) {
    if (!socket.is_live()) {
        return;
    }
    Interval& interval = socket.feed->intervals[socket.interval];
    interval.closed = clock_.now();
    interval.how = how;
    std::erase(socket.feed->live, &socket);
}

void Server::close(Socket& socket, CloseHow how, bool reset) {
    if (socket.is_dead) {
        return;
    }
    end_interval(socket, how);
    if (reset) {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(socket.descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    ::close(socket.descriptor);
    socket.is_dead = true;
    dead_.push_back(std::move(sockets_[static_cast<std::size_t>(socket.descriptor)]));
}

void Server::take_leave(Socket& socket) {
    socket.phase = Phase::lingering;
    socket.deadline = clock_.now() + options_.close_wait;
    schedule(socket, socket.deadline);
    pump(socket, clock_.now());
}

void Server::close_all() {
    for (auto& socket : sockets_) {
        if (socket) {
            if (socket->is_live()) {
                std::string frame;
                append_close(frame, 1001, "the server stops");
                std::size_t ignored = 0;
                [[maybe_unused]] const auto flushed = write_now(*socket, frame, ignored);
            }
            close(*socket, CloseHow::server_stop);
        }
    }
    dead_.clear();
    close_if_open(std::exchange(listener_, -1));
}

}  // namespace longhold::mock
