// SPDX-License-Identifier: Apache-2.0
#include "dial.h"

#include <arpa/inet.h>
#include <longhold/base/duration_text.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "transports.h"

namespace longhold::upstream {
namespace {

using runtime::Task;
using Failure = std::unexpected<DialError>;
using Addresses = std::vector<Address>;

// Kernel and peer get this long to acknowledge what was sent, where no ping bounds it.
constexpr Duration unacknowledged_max = std::chrono::seconds{60};

std::string within(const ConnectionOptions& options) {
    return " within the attempt's " + format_duration(options.attempt_timeout);
}

// The address that `url` names by number, if it does.
std::optional<Address> numeric_address(const Url& url) {
    Address address;
    if (url.ipv6) {
        auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(url.port);
        address.size = sizeof v6;
        return ::inet_pton(AF_INET6, url.host.c_str(), &v6.sin6_addr) == 1 ? std::optional{address} : std::nullopt;
    }
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(url.port);
    address.size = sizeof v4;
    return ::inet_pton(AF_INET, url.host.c_str(), &v4.sin_addr) == 1 ? std::optional{address} : std::nullopt;
}

// Shared with a look-up that cannot be interrupted: it may end after whoever asked for it has gone.
struct LookUp {
    explicit LookUp(runtime::Loop& loop) : resolver(loop.context()) {}

    boost::asio::ip::tcp::resolver resolver;
    std::weak_ptr<ReadinessListener> listener;
    Addresses addresses;
    std::string failure;
    bool done = false;
};

void start(const std::shared_ptr<LookUp>& look_up, const Url& url) {
    look_up->resolver.async_resolve(
        url.host, std::to_string(url.port), boost::asio::ip::tcp::resolver::numeric_service,
        [look_up](boost::system::error_code failure, const boost::asio::ip::tcp::resolver::results_type& results) {
            look_up->done = true;
            look_up->failure = failure ? failure.message() : "";
            for (const auto& result : results) {
                const auto endpoint = result.endpoint();
                Address address;
                address.size = static_cast<socklen_t>(endpoint.size());
                std::memcpy(&address.storage, endpoint.data(), endpoint.size());
                look_up->addresses.push_back(address);
            }
            if (const auto listener = look_up->listener.lock()) {
                listener->on_readable();
            }
        });
}

DialError given_up_error() {
    return {EndReason::aborted, "the attempt was given up"};
}

Task<std::expected<Addresses, DialError>> resolve(const Dialler& dialler, Instant deadline) {
    const Url& url = dialler.options.url;
    if (const auto address = numeric_address(url)) {
        co_return Addresses{*address};
    }
    const auto look_up = std::make_shared<LookUp>(dialler.shared.loop);
    look_up->listener = dialler.listener;
    dialler.receiver.on_stage(Stage::resolving, url.host);
    start(look_up, url);
    while (!look_up->done) {
        if (dialler.given_up) {
            co_return Failure{given_up_error()};
        }
        if (dialler.waker.now() >= deadline) {
            look_up->resolver.cancel();
            co_return Failure{{EndReason::attempt_timed_out,
                               "the name \"" + url.host + "\" was not resolved" + within(dialler.options)}};
        }
        co_await dialler.waker.wait_until(deadline);
    }
    if (look_up->addresses.empty()) {
        co_return Failure{
            {EndReason::resolve_failed, "the name \"" + url.host + "\" does not resolve: " + look_up->failure}};
    }
    co_return std::move(look_up->addresses);
}

Task<std::expected<std::unique_ptr<Socket>, DialError>> connect(const Dialler& dialler, Address address,
                                                                Instant deadline) {
    const ConnectionOptions& options = dialler.options;
    const Duration bound =
        options.ping_every > Duration::zero() ? options.ping_every + options.pong_timeout : unacknowledged_max;
    const LoopShared& shared = dialler.shared;
    dialler.receiver.on_stage(Stage::connecting, address.text());
    auto socket = Socket::connect(shared.loop, shared.abort_table, shared.group, address, bound, dialler.listener);
    const std::string where = "connecting to " + address.text();
    if (!socket) {
        co_return Failure{{EndReason::connect_failed, where + " failed: " + socket.error()}};
    }
    IoStatus status = (*socket)->connect_status();
    if (status == IoStatus::would_block) {
        (*socket)->await_writable(false);
    }
    while (status == IoStatus::would_block) {
        if (dialler.given_up) {
            co_return Failure{given_up_error()};
        }
        if (dialler.waker.now() >= deadline) {
            co_return Failure{{EndReason::attempt_timed_out, where + " got no answer" + within(options)}};
        }
        co_await dialler.waker.wait_until(deadline);
        status = (*socket)->connect_status();
    }
    if (status == IoStatus::failed) {
        co_return Failure{{EndReason::connect_failed, where + " failed: " + (*socket)->failure()}};
    }
    dialler.receiver.on_stage(Stage::connected, address.text());
    co_return std::move(*socket);
}

// Each address gets an equal share of the time that is left, so that one that never answers leaves some to the next.
Task<std::expected<std::unique_ptr<Socket>, DialError>> connect_to_any(const Dialler& dialler, Addresses addresses,
                                                                       Instant deadline) {
    DialError error{EndReason::connect_failed, ""};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const Instant now = dialler.waker.now();
        const Duration share = (deadline - now) / static_cast<long>(addresses.size() - i);
        auto socket = co_await connect(dialler, addresses[i], now + share);
        if (socket || dialler.given_up) {
            co_return socket;
        }
        error.reason = socket.error().reason;
        error.detail += (error.detail.empty() ? "" : "; ") + socket.error().detail;
    }
    co_return Failure{std::move(error)};
}

Task<std::expected<std::unique_ptr<Transport>, DialError>> begin_tls(const Dialler& dialler,
                                                                     std::unique_ptr<Socket> socket, Instant deadline) {
    const ConnectionOptions& options = dialler.options;
    const auto context = dialler.shared.tls.get(options.tls);
    if (!context) {
        co_return Failure{{EndReason::tls_failed, context.error()}};
    }
    auto transport = tls_transport(std::move(socket), *context, options.url, options.tls);
    if (!transport) {
        co_return Failure{{EndReason::tls_failed, transport.error()}};
    }
    for (;;) {
        const IoStatus status = (*transport)->handshake_now();
        if (status == IoStatus::done) {
            dialler.receiver.on_stage(Stage::secured, (*transport)->description());
            co_return std::move(*transport);
        }
        if (status == IoStatus::failed) {
            co_return Failure{{EndReason::tls_failed, (*transport)->failure()}};
        }
        if (dialler.given_up) {
            co_return Failure{given_up_error()};
        }
        if (dialler.waker.now() >= deadline) {
            co_return Failure{{EndReason::attempt_timed_out, "the TLS handshake did not end" + within(options)}};
        }
        co_await dialler.waker.wait_until(deadline);
    }
}

}  // namespace

Task<std::expected<std::unique_ptr<Transport>, DialError>> dial(Dialler dialler, Instant deadline) {
    auto addresses = co_await resolve(dialler, deadline);
    if (!addresses) {
        co_return Failure{std::move(addresses.error())};
    }
    auto socket = co_await connect_to_any(dialler, std::move(*addresses), deadline);
    if (!socket) {
        co_return Failure{std::move(socket.error())};
    }
    if (!dialler.options.url.secure) {
        co_return plain_transport(std::move(*socket));
    }
    co_return co_await begin_tls(dialler, std::move(*socket), deadline);
}

}  // namespace longhold::upstream
