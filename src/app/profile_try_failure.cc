// SPDX-License-Identifier: Apache-2.0
#include "profile_try_failure.h"

#include <longhold/base/duration_text.h>

#include <utility>

#include "printable.h"

namespace longhold::app {
namespace {

using upstream::EndReason;

constexpr std::uint16_t close_code_normal = 1000;
constexpr std::uint16_t close_code_going_away = 1001;

std::string redirect_remedy(const upstream::Ended& ended) {
    const auto location = upstream::find_header(ended.headers, "Location");
    return location ? "use the place that it names: " + printable(*location) : "ask its operator for the URL to use";
}

std::string refusal_remedy(const upstream::Ended& ended) {
    switch (ended.http_status) {
        case 0:
        case 200:
        case 400:
        case 404:
        case 405:
        case 426:
            return "see that host, port and path name a WebSocket endpoint, and what it wants in the query";
        case 101:
            return "see --set subprotocols=… and what stands between here and the server";
        case 401:
        case 403:
        case 407:
            return "give credentials as the server wants them, such as "
                   "--set 'headers.Authorization=Bearer ${env:TOKEN}'";
        case 301:
        case 302:
        case 303:
        case 307:
        case 308:
            return redirect_remedy(ended);
        case 409:
        case 429:
        case 503:
            return ended.retry_after ? "the server asks to wait for " + format_duration(*ended.retry_after)
                                     : std::string{"try again later; it takes no further connection now"};
        default:
            return ended.http_status >= 500 ? "try again later: the server itself failed"
                                            : "see what the server's answer says";
    }
}

std::string tls_remedy(const upstream::Ended& ended) {
    if (ended.detail.contains("host name mismatch")) {
        return "use a name that the certificate is for, or set the one to ask for with --set tls.server_name=NAME";
    }
    if (ended.detail.contains("not trusted")) {
        return "name the authority to trust with --set tls.ca_file=FILE, or, for a test only, --set tls.verify=false";
    }
    if (ended.detail.contains("ca_file")) {
        return "correct tls.ca_file";
    }
    return "see that the server speaks TLS 1.2 or later on that port; ws:// is without TLS";
}

std::string remedy_of(const upstream::Ended& ended) {
    switch (ended.reason) {
        case EndReason::resolve_failed:
            return "correct the host name, or see that names are resolved here";
        case EndReason::connect_failed:
            return "see that the server listens there and that no firewall stands between";
        case EndReason::tls_failed:
            return tls_remedy(ended);
        case EndReason::attempt_timed_out:
            return ended.detail.contains("TLS")
                       ? "see that the server speaks TLS on that port; ws:// is without TLS"
                       : "see that the server is up, or allow it more time with --set attempt_timeout=30s";
        case EndReason::handshake_refused:
            return refusal_remedy(ended);
        case EndReason::message_too_big:
            return "allow more with --set limits.message_bytes=64MiB --set limits.frame_bytes=64MiB";
        case EndReason::liveness_timeout:
            return "see the network; --set liveness.ping_timeout=30s waits longer, liveness.ping_every=0 never pings";
        case EndReason::protocol_violation:
            return "tell the server's operator: this is no WebSocket as RFC 6455 has it";
        case EndReason::closed_by_peer:
            return "look the code up in the server's documentation";
        case EndReason::transport_lost:
            return ended.opened ? "run this again; a worker would connect anew"
                                : "see that a WebSocket server listens there";
        case EndReason::closed_by_us:
        case EndReason::aborted:
        case EndReason::backpressure:
            return "run this again";
    }
    std::unreachable();
}

}  // namespace

bool ended_normally(const upstream::Ended& ended) {
    return ended.reason == EndReason::closed_by_peer &&
           (ended.close_code == close_code_normal || ended.close_code == close_code_going_away ||
            ended.close_code == upstream::close_code_absent);
}

config::Problem problem_of(const upstream::Ended& ended, const std::string& where) {
    std::string what = ended.reason == EndReason::closed_by_peer
                           ? "the server closed the connection with " + close_text(ended)
                           : printable(ended.detail);
    return {.what = std::move(what), .where = where, .remedy = remedy_of(ended)};
}

std::string refusal_text(const upstream::Ended& ended) {
    if (ended.http_status == 0) {
        return {};
    }
    std::string text = "HTTP " + std::to_string(ended.http_status) + "\n";
    for (const auto& [name, value] : ended.headers) {
        text += name + ": " + value + "\n";
    }
    if (!ended.body.empty()) {
        text += "\n" + ended.body + (ended.body.ends_with('\n') ? "" : "\n");
    }
    std::string lines;
    const std::string safe = printable(text);
    for (std::size_t at = 0; at < safe.size();) {
        const std::size_t end = safe.find('\n', at);
        lines += "< " + safe.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return lines;
}

std::string close_text(const upstream::Ended& ended) {
    if (ended.close_code == 0 || ended.close_code == upstream::close_code_absent) {
        return "no code";
    }
    return "code " + std::to_string(ended.close_code) +
           (ended.close_reason.empty() ? "" : " (\"" + printable(ended.close_reason) + "\")");
}

}  // namespace longhold::app
