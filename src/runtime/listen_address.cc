// SPDX-License-Identifier: Apache-2.0
#include <longhold/runtime/listen_address.h>

#include <charconv>

namespace longhold::runtime {

std::expected<HostPort, std::string> parse_host_port(std::string_view text) {
    const auto wrong = [text](std::string_view reason) {
        return std::unexpected("\"" + std::string{text} + "\" is no address: " + std::string{reason} +
                               "; write host:port, such as 127.0.0.1:8470 or [::1]:8470");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return wrong("it has no port");
    }
    std::string_view host = text.substr(0, colon);
    const std::string_view port_text = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return wrong("an IPv6 host stands in brackets");
    }
    if (host.empty()) {
        return wrong("it has no host (0.0.0.0 stands for every interface)");
    }
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (error != std::errc{} || end != port_text.data() + port_text.size()) {
        return wrong("its port is no number from 0 to 65535");
    }
    return HostPort{std::string{host}, port};
}

}  // namespace longhold::runtime
