// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>

#include <algorithm>
#include <charconv>

#include "frames.h"
#include "oracle_json.h"
#include "server.h"

namespace longhold::mock {
namespace {

constexpr std::string_view feed_prefix = "/feed/";
constexpr std::string_view faults_prefix = "/faults/";
constexpr std::string_view oracle_prefix = "/oracle/";
constexpr std::size_t id_bytes_max = 256;
constexpr std::size_t rules_max = 10'000;

bool is_id(std::string_view id) {
    return !id.empty() && id.size() <= id_bytes_max && is_utf8(id);
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc{} && end == text.data() + text.size();
    return is_whole && !text.empty() ? std::optional{value} : std::nullopt;
}

ControlReply problem(int status, std::string_view sentence) {
    JsonWriter json;
    json.begin_object().key("error").value(sentence).end_object();
    return ControlReply{status, json.take()};
}

// What is wrong with an upgrade request, before the id is looked at.
struct UpgradeFault {
    int status = 0;
    std::string_view reason;
    std::string_view headers;
};

std::optional<UpgradeFault> upgrade_fault(const Request& request, std::string_view id) {
    if (request.method != "GET") {
        return UpgradeFault{405, "a feed is asked for with GET\n", "Allow: GET\r\n"};
    }
    if (!is_id(id)) {
        return UpgradeFault{400, "an id is 1 to 256 bytes of UTF-8\n", {}};
    }
    if (!request.has_token("upgrade", "websocket") || !request.has_token("connection", "upgrade")) {
        return UpgradeFault{426, "a feed is a WebSocket: ask for an upgrade\n", "Upgrade: websocket\r\n"};
    }
    if (request.header("sec-websocket-version") != "13") {
        return UpgradeFault{426, "only version 13 is spoken\n", "Sec-WebSocket-Version: 13\r\n"};
    }
    if (const auto cursor = request.target.value("cursor"); cursor && !number(*cursor)) {
        return UpgradeFault{400, "cursor is not a number\n", {}};
    }
    return std::nullopt;
}

}  // namespace

void Server::on_request(Socket& socket, const Request& request) {
    const std::string& path = request.target.path;
    if (path.starts_with(feed_prefix)) {
        on_upgrade(socket, request, path.substr(feed_prefix.size()));
        return;
    }
    const ControlReply reply = control(request.method, request.target);
    if (!socket.is_dead) {
        socket.out += http_answer(reply.status, "application/json", reply.body);
        take_leave(socket);
    }
}

void Server::answer(Socket& socket, int status, std::string_view body, std::string_view more_headers) {
    socket.out += http_answer(status, "text/plain; charset=utf-8", body, more_headers);
    take_leave(socket);
}

Feed& Server::feed_of(const std::string& id) {
    if (const auto found = feeds_.find(id); found != feeds_.end()) {
        return *found->second;
    }
    const Instant from = options_.all_from_start ? started_ : clock_.now();
    Feed& feed = *feeds_.emplace(id, std::make_unique<Feed>(id, options_.rate, from)).first->second;
    for (const FaultRule& rule : rules_) {
        if (matches(rule.glob, id)) {
            std::ranges::for_each(rule.faults, [&](const Fault& fault) { feed.set_fault(fault); });
        }
    }
    return feed;
}

void Server::on_upgrade(Socket& socket, const Request& request, const std::string& id) {
    if (const auto fault = upgrade_fault(request, id)) {
        answer(socket, fault->status, fault->reason, fault->headers);
        return;
    }
    const auto accept = accept_key(request.header("sec-websocket-key"));
    if (!accept) {
        answer(socket, 400, "Sec-WebSocket-Key is not 16 bytes in base64\n");
        return;
    }
    if (recorded_ >= options_.sockets_recorded_max || feeds_.size() >= options_.sockets_recorded_max) {
        answer(socket, 503, "the oracle's record is full\n");
        return;
    }
    Feed& feed = feed_of(id);
    settle(feed);
    if (const auto fault = feed.take(FaultKind::status, 0)) {
        ++feed.refused;
        const std::string header =
            fault->retry_after > 0 ? "Retry-After: " + std::to_string(fault->retry_after) + "\r\n" : std::string{};
        answer(socket, static_cast<int>(fault->value), "refused, as told\n", header);
        return;
    }
    if (feed.lasting(FaultKind::refuse_second, 0) != nullptr && !feed.live.empty()) {
        ++feed.refused;
        answer(socket, 409, "a socket of this id lives\n");
        return;
    }
    open(socket, feed, request, *accept);
}

void Server::open(Socket& socket, Feed& feed, const Request& request, std::string_view accept) {
    const Instant now = clock_.now();
    const auto cursor_text = request.target.value("cursor");
    const auto cursor = cursor_text ? number(*cursor_text) : std::nullopt;
    const std::uint64_t head = feed.head(feed.stream(), now);
    socket.feed = &feed;
    socket.interval = feed.intervals.size();
    socket.stream = feed.stream();
    socket.next_seq = (cursor && *cursor <= head ? *cursor : head) + 1;
    socket.phase = Phase::open;
    feed.intervals.push_back(Interval{.opened = now, .remote_port = socket.remote_port, .cursor = cursor});
    ++recorded_;
    feed.live.push_back(&socket);
    feed.live_max = std::max(feed.live_max, feed.live.size());
    socket.out +=
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
    socket.out += accept;
    socket.out += "\r\n\r\n";
    pump(socket, now);
}

ControlReply Server::control(std::string_view method, const Target& target) {
    const std::string_view path = target.path;
    if (path.starts_with(faults_prefix)) {
        return faults_route(method, std::string{path.substr(faults_prefix.size())}, target.query);
    }
    const bool is_oracle = path == "/oracle" || path.starts_with(oracle_prefix);
    if (path != "/livez" && !is_oracle) {
        return problem(404, "there are /feed/ID, /faults/ID, /oracle, /oracle/ID and /livez");
    }
    if (method != "GET") {
        return problem(405, "this is only read, with GET");
    }
    if (!is_oracle) {
        return ControlReply{200, R"({"status":"ok"})"};
    }
    const OracleBase base{.started = started_,
                          .wall_started = wall_started_,
                          .now = clock_.now(),
                          .rate = options_.rate,
                          .message_bytes = options_.message_bytes,
                          .unsent_max = unsent_max_};
    if (path == "/oracle") {
        return ControlReply{200, oracle_json(base, feeds_)};
    }
    const auto found = feeds_.find(path.substr(oracle_prefix.size()));
    if (found == feeds_.end()) {
        return problem(404, "no socket ever asked for this id");
    }
    return ControlReply{200, feed_json(base, *found->second)};
}

ControlReply Server::faults_route(std::string_view method, const std::string& glob, const FaultWords& words) {
    if (!is_id(glob)) {
        return problem(400, "an id is 1 to 256 bytes of UTF-8");
    }
    if (method != "POST" && method != "DELETE") {
        return problem(405, "faults are set with POST and removed with DELETE");
    }
    std::vector<Fault> faults;
    if (method == "POST" || !words.empty()) {
        auto read = parse_faults(words);
        if (!read) {
            return problem(400, read.error());
        }
        faults = std::move(*read);
    }
    std::uint64_t count = 0;
    if (method == "POST") {
        if (rules_.size() >= rules_max) {
            return problem(503, "there are too many fault rules; delete some");
        }
        add_rule(FaultRule{glob, faults});
    } else {
        std::erase_if(rules_, [&](const FaultRule& rule) { return matches(glob, rule.glob); });
    }
    for (const auto& [id, feed] : feeds_) {
        if (!matches(glob, id)) {
            continue;
        }
        ++count;
        for (const Fault& fault : faults) {
            method == "POST" ? feed->set_fault(fault) : feed->clear_faults(fault.kind);
        }
        if (faults.empty()) {
            feed->clear_faults(std::nullopt);
        }
        strike_now(*feed);
    }
    return ControlReply{200, R"({"ids":)" + std::to_string(count) + '}'};
}

void Server::add_rule(FaultRule rule) {
    // Feeds that exist take the faults themselves; the rule is for those to come.
    const bool is_for_more = rule.glob.find_first_of("*?") != std::string::npos || !feeds_.contains(rule.glob);
    if (is_for_more) {
        rules_.push_back(std::move(rule));
    }
}

void Server::strike_now(Feed& feed) {
    const Instant now = clock_.now();
    if (const auto fault = feed.take(FaultKind::restart_sequence, 0)) {
        restart(feed, static_cast<Restart>(fault->value), now);
    }
    const std::vector<Socket*> sockets = feed.live;
    for (Socket* socket : sockets) {
        if (socket->half_open && feed.lasting(FaultKind::half_open, socket->sent) == nullptr) {
            socket->half_open = false;
            watch(*socket);
        }
        pump(*socket, now);
    }
}

}  // namespace longhold::mock
