// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made on the spot.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace longhold::upstream {

using TestKey = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
using TestCertificate = std::unique_ptr<X509, decltype(&::X509_free)>;
using TestTlsContext = std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)>;

// A key with its certificate; self-signed where it has no issuer.
struct TestIdentity {
    TestKey key;
    TestCertificate certificate;
};

struct TestCertificateOptions {
    std::string common_name;
    std::string alternative_names{};  // as in "DNS:localhost,IP:127.0.0.1"
    bool authority = false;
    long valid_from_seconds = -3'600;  // from now
    long valid_to_seconds = 3'600;
};

TestIdentity make_identity(const TestCertificateOptions& options, const TestIdentity* issuer = nullptr);

// A server's context that shows `identity`.
TestTlsContext server_context(const TestIdentity& identity);

// `identity`'s certificate as PEM.
std::string pem(const TestIdentity& identity);

}  // namespace longhold::upstream
