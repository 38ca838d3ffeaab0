// SPDX-License-Identifier: Apache-2.0
#include "connection_end.h"

#include <utility>

namespace longhold::worker {
namespace {

core::EndKind kind_of(upstream::EndReason reason) {
    switch (reason) {
        case upstream::EndReason::closed_by_peer:
            return core::EndKind::closed;
        case upstream::EndReason::closed_by_us:
            return core::EndKind::rotated;
        case upstream::EndReason::aborted:
        case upstream::EndReason::transport_lost:
        case upstream::EndReason::backpressure:
            return core::EndKind::lost;
        case upstream::EndReason::liveness_timeout:
            return core::EndKind::silent;
        case upstream::EndReason::protocol_violation:
            return core::EndKind::protocol_breach;
        case upstream::EndReason::message_too_big:
            return core::EndKind::message_too_big;
        case upstream::EndReason::handshake_refused:
            return core::EndKind::http_status;
        case upstream::EndReason::tls_failed:
            return core::EndKind::tls_failed;
        case upstream::EndReason::resolve_failed:
        case upstream::EndReason::connect_failed:
        case upstream::EndReason::attempt_timed_out:
            return core::EndKind::unreachable;
    }
    std::unreachable();
}

}  // namespace

core::ConnectionEnd end_of(const upstream::Ended& ended) {
    core::ConnectionEnd end{.kind = kind_of(ended.reason), .retry_after = ended.retry_after};
    if (end.kind == core::EndKind::closed && ended.close_code != upstream::close_code_absent) {
        end.close_code = ended.close_code;
    }
    if (end.kind == core::EndKind::http_status) {
        end.http_status = static_cast<std::uint16_t>(ended.http_status);
        if (ended.http_status == 0 || ended.http_status == 101) {
            end.kind = core::EndKind::bad_handshake;
        }
    }
    return end;
}

std::string detail_of(const upstream::Ended& ended) {
    constexpr std::size_t shown_max = 200;
    return ended.body.empty() ? ended.detail : ended.detail + ": " + ended.body.substr(0, shown_max);
}

}  // namespace longhold::worker
