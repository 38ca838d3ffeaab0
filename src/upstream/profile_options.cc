// SPDX-License-Identifier: Apache-2.0
#include <longhold/upstream/profile_options.h>

#include <utility>

namespace longhold::upstream {

std::expected<ConnectionOptions, std::string> options_for(const config::ResolvedProfile& resolved,
                                                          std::string_view connection_id,
                                                          const std::optional<std::string>& cursor) {
    const auto& profile = resolved.profile;
    auto url = parse_url(config::dial_url(resolved, connection_id, cursor));
    if (!url) {
        return std::unexpected(std::move(url.error()));
    }
    ConnectionOptions options{.url = std::move(*url)};
    for (auto& [name, value] : config::dial_headers(resolved, connection_id)) {
        options.headers.emplace_back(name, value);
    }
    options.subprotocols = profile.subprotocols;
    options.tls = {
        .verify = profile.tls.verify, .ca_file = profile.tls.ca_file, .server_name = profile.tls.server_name};
    options.frame_bytes_max = profile.limits.frame_bytes.bytes;
    options.message_bytes_max = profile.limits.message_bytes.bytes;
    options.attempt_timeout = profile.attempt_timeout;
    options.ping_every = profile.liveness.ping_every;
    options.pong_timeout = profile.liveness.ping_timeout;
    options.close_timeout = profile.close_timeout;
    return options;
}

}  // namespace longhold::upstream
