// SPDX-License-Identifier: Apache-2.0
#include "test_certificates.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace longhold::upstream {
namespace {

void add_extension(X509* certificate, int id, const std::string& value) {
    X509V3_CTX context{};
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    EXPECT_NE(extension, nullptr) << value;
    ::X509_add_ext(certificate, extension, -1);
    ::X509_EXTENSION_free(extension);
}

}  // namespace

TestIdentity make_identity(const TestCertificateOptions& options, const TestIdentity* issuer) {
    static long serial = 1;
    TestIdentity made{TestKey{EVP_EC_gen("P-256"), &::EVP_PKEY_free}, TestCertificate{::X509_new(), &::X509_free}};
    X509* const certificate = made.certificate.get();
    ::X509_set_version(certificate, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), serial++);
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate), options.valid_from_seconds);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate), options.valid_to_seconds);
    ::X509_set_pubkey(certificate, made.key.get());
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(options.common_name.c_str()), -1, -1, 0);
    const TestIdentity& signer = issuer != nullptr ? *issuer : made;
    ::X509_set_issuer_name(certificate, ::X509_get_subject_name(signer.certificate.get()));
    add_extension(certificate, NID_basic_constraints, options.authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!options.alternative_names.empty()) {
        add_extension(certificate, NID_subject_alt_name, options.alternative_names);
    }
    EXPECT_GT(::X509_sign(certificate, signer.key.get(), ::EVP_sha256()), 0);
    return made;
}

TestTlsContext server_context(const TestIdentity& identity) {
    TestTlsContext context{::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free};
    EXPECT_EQ(::SSL_CTX_use_certificate(context.get(), identity.certificate.get()), 1);
    EXPECT_EQ(::SSL_CTX_use_PrivateKey(context.get(), identity.key.get()), 1);
    return context;
}

std::string pem(const TestIdentity& identity) {
    BIO* const memory = ::BIO_new(::BIO_s_mem());
    ::PEM_write_bio_X509(memory, identity.certificate.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory, &text);
    std::string out{text, static_cast<std::size_t>(size)};
    ::BIO_free(memory);
    return out;
}

}  // namespace longhold::upstream
