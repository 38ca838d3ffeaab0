// SPDX-License-Identifier: Apache-2.0
// What TLS connections share: OpenSSL's context, and how it reaches a Socket.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace longhold::upstream {

template <auto free_function>
struct FreeWith {
    template <class T>
    void operator()(T* object) const {
        free_function(object);
    }
};

using SslContext = std::unique_ptr<SSL_CTX, FreeWith<::SSL_CTX_free>>;
using BioMethod = std::unique_ptr<BIO_METHOD, FreeWith<::BIO_meth_free>>;

struct TlsContext {
    BioMethod socket_method;  // reads and writes a Socket without raising SIGPIPE
    SslContext ssl;
};

// The method of a BIO whose data is a Socket.
[[nodiscard]] BioMethod make_socket_method();

// Takes the reasons off OpenSSL's error queue; the first of them in words.
[[nodiscard]] std::string take_tls_error();

// Whether SSL_free_buffers() may be called under OpenSSL `version` (OpenSSL_version_num()): it lost the beginning of a
// record in releases before CVE-2024-4741 was mended.
[[nodiscard]] bool can_free_buffers(unsigned long version);

}  // namespace longhold::upstream
