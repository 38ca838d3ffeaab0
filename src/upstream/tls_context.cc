// SPDX-License-Identifier: Apache-2.0
#include "tls_context.h"

#include <longhold/upstream/tls.h>
#include <openssl/err.h>
#include <sys/stat.h>

#include <array>
#include <utility>

namespace longhold::upstream {

std::string take_tls_error() {
    const unsigned long first = ::ERR_peek_error();
    ::ERR_clear_error();
    if (first == 0) {
        return {};
    }
    const char* reason = ::ERR_reason_error_string(first);
    return reason != nullptr ? reason : "error " + std::to_string(first);
}

std::expected<std::shared_ptr<TlsContext>, std::string> TlsContexts::get(const TlsOptions& options) {
    const std::pair key{options.verify, options.ca_file};
    if (const auto found = contexts_.find(key); found != contexts_.end()) {
        return found->second;
    }
    auto context = std::make_shared<TlsContext>();
    context->socket_method = make_socket_method();
    context->ssl.reset(::SSL_CTX_new(::TLS_client_method()));
    SSL_CTX* const ssl = context->ssl.get();
    if (ssl == nullptr || context->socket_method == nullptr) {
        return std::unexpected("TLS cannot be set up: " + take_tls_error());
    }
    ::SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    ::SSL_CTX_set_mode(ssl,
                       SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ::SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    constexpr std::array<unsigned char, 9> http1{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    ::SSL_CTX_set_alpn_protos(ssl, http1.data(), http1.size());
    ::SSL_CTX_set_verify(ssl, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (options.verify) {
        struct stat about{};
        if (!options.ca_file.empty() && (::stat(options.ca_file.c_str(), &about) != 0 || !S_ISREG(about.st_mode))) {
            return std::unexpected("ca_file \"" + options.ca_file + "\" is no regular file that can be found");
        }
        const bool loaded = options.ca_file.empty()
                                ? ::SSL_CTX_set_default_verify_paths(ssl) == 1
                                : ::SSL_CTX_load_verify_locations(ssl, options.ca_file.c_str(), nullptr) == 1;
        if (!loaded) {
            return std::unexpected(options.ca_file.empty()
                                       ? "the system's trusted certificates cannot be loaded: " + take_tls_error()
                                       : "no trusted certificate can be read from ca_file \"" + options.ca_file +
                                             "\": " + take_tls_error());
        }
    }
    contexts_.emplace(key, context);
    return context;
}

}  // namespace longhold::upstream
