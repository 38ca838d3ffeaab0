// SPDX-License-Identifier: Apache-2.0
#include "feed.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longhold::mock {

std::string_view text(CloseHow how) {
    switch (how) {
        case CloseHow::live:
            return "live";
        case CloseHow::client_close:
            return "client_close";
        case CloseHow::eof:
            return "eof";
        case CloseHow::reset:
            return "reset";
        case CloseHow::server_close:
            return "server_close";
        case CloseHow::dropped:
            return "dropped";
        case CloseHow::protocol_error:
            return "protocol_error";
        case CloseHow::server_stop:
            return "server_stop";
    }
    return "live";
}

Feed::Feed(std::string id, double rate, Instant started) : id_(std::move(id)), rate_(rate), streams_(1) {
    streams_.front().started = started;
}

std::uint64_t Feed::head(std::uint32_t stream, Instant now) const {
    const Stream& run = streams_[stream - 1];
    if (run.ended) {
        return run.final_head;
    }
    const double seconds = std::chrono::duration<double>(now - run.started).count();
    return static_cast<std::uint64_t>(std::floor(std::max(seconds, 0.0) * rate_));
}

std::optional<Instant> Feed::due(std::uint64_t seq) const {
    const double nanoseconds = rate_ > 0 ? static_cast<double>(seq) / rate_ * 1e9 : 1e19;
    if (nanoseconds > 4e18) {
        return std::nullopt;
    }
    return streams_.back().started + Duration{static_cast<Duration::rep>(std::ceil(nanoseconds))};
}

void Feed::restart(Instant now) {
    streams_.back().final_head = head(stream(), now);
    streams_.back().ended = now;
    streams_.push_back(Stream{.started = now});
}

void Feed::set_fault(Fault fault) {
    clear_faults(fault.kind);
    faults_.push_back(fault);
}

void Feed::clear_faults(std::optional<FaultKind> kind) {
    std::erase_if(faults_, [&](const Fault& fault) { return !kind || fault.kind == *kind; });
}

const Fault* Feed::lasting(FaultKind kind, std::uint64_t sent) const {
    const auto found = std::ranges::find(faults_, kind, &Fault::kind);
    return found != faults_.end() && sent >= found->after ? &*found : nullptr;
}

std::optional<Fault> Feed::take(FaultKind kind, std::uint64_t sent) {
    const auto found = std::ranges::find(faults_, kind, &Fault::kind);
    if (found == faults_.end() || sent < found->after) {
        return std::nullopt;
    }
    const Fault taken = *found;
    if (found->times == 1) {
        faults_.erase(found);
    } else if (found->times > 1) {
        --found->times;
    }
    return taken;
}

std::uint64_t Feed::until_fault(std::uint64_t sent) const {
    std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
    for (const Fault& fault : faults_) {
        if (fault.after > sent) {
            left = std::min(left, fault.after - sent);
        }
    }
    return left;
}

}  // namespace longhold::mock
