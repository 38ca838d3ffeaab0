// SPDX-License-Identifier: Apache-2.0
// TLS directly on a socket: OpenSSL reads and writes it through a BIO of ours, and gives its own buffers back when
// idle.
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <cstring>

#include "tls_context.h"
#include "transports.h"

namespace longhold::upstream {
namespace {

using Ssl = std::unique_ptr<SSL, FreeWith<::SSL_free>>;

int finish_bio(BIO* bio, IoResult result, int retry_flag) {
    BIO_clear_retry_flags(bio);
    if (result.status == IoStatus::done) {
        return static_cast<int>(result.bytes);
    }
    if (result.status == IoStatus::would_block) {
        ::BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
    }
    return result.status == IoStatus::ended ? 0 : -1;
}

int bio_read(BIO* bio, char* out, int size) {
    auto& socket = *static_cast<Socket*>(::BIO_get_data(bio));
    return finish_bio(bio, socket.read_now({out, static_cast<std::size_t>(size)}), BIO_FLAGS_READ);
}

int bio_write(BIO* bio, const char* bytes, int size) {
    auto& socket = *static_cast<Socket*>(::BIO_get_data(bio));
    return finish_bio(bio, socket.write_now({bytes, static_cast<std::size_t>(size)}), BIO_FLAGS_WRITE);
}

long bio_control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

class OpensslTransport final : public TlsTransport {
public:
    OpensslTransport(std::unique_ptr<Socket> socket, std::shared_ptr<TlsContext> context, Ssl ssl)
        : socket_(std::move(socket)), context_(std::move(context)), ssl_(std::move(ssl)) {}

    IoStatus handshake_now() override {
        ::ERR_clear_error();
        const int result = ::SSL_connect(ssl_.get());
        if (result == 1) {
            return IoStatus::done;
        }
        const int error = ::SSL_get_error(ssl_.get(), result);
        if (error == SSL_ERROR_WANT_READ) {
            socket_->await_readable(true);
            return IoStatus::would_block;
        }
        if (error == SSL_ERROR_WANT_WRITE) {
            socket_->await_writable(true);
            return IoStatus::would_block;
        }
        failure_ = handshake_failure(error);
        return IoStatus::failed;
    }

    [[nodiscard]] std::string description() const override {
        const bool verified = ::SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE;
        return std::string{::SSL_get_version(ssl_.get())} + ", " + ::SSL_get_cipher_name(ssl_.get()) +
               (verified ? ", certificate verified" : ", certificate not verified");
    }

    // Fills the buffer from as many TLS records as are there.
    IoResult read_now(std::span<char> buffer) override {
        const IoResult result = read_records(buffer);
        // SSL_MODE_RELEASE_BUFFERS forgets one: a session ticket read on the way takes a write buffer that only the
        // next write would give back. What is in use stays.
        static const bool usable = can_free_buffers(::OpenSSL_version_num());
        if (usable) {
            ::SSL_free_buffers(ssl_.get());
        }
        return result;
    }

    IoResult write_now(std::string_view bytes) override {
        ::ERR_clear_error();
        std::size_t written = 0;
        const int result = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
        return result == 1 ? IoResult{IoStatus::done, written}
                           : stopped(result, write_wants_read_, SSL_ERROR_WANT_READ);
    }

    void await_readable() override {
        if (::SSL_pending(ssl_.get()) > 0) {
            socket_->post_readable();  // decrypted bytes are waiting, of which the socket knows nothing
        } else if (std::exchange(read_wants_write_, false)) {
            socket_->await_writable(true);
        } else {
            socket_->await_readable(true);
        }
    }

    void await_writable() override {
        if (std::exchange(write_wants_read_, false)) {
            socket_->await_readable(false);
        } else {
            socket_->await_writable(false);
        }
    }

    void end_writing() override {
        if (!broken_) {
            ::ERR_clear_error();
            ::SSL_shutdown(ssl_.get());
            ::ERR_clear_error();
        }
        socket_->end_writing();
    }

    void reset() override { socket_->reset(); }

    [[nodiscard]] std::string failure() const override { return failure_.empty() ? socket_->failure() : failure_; }

private:
    IoResult read_records(std::span<char> buffer) {
        std::size_t got = 0;
        while (got < buffer.size()) {
            ::ERR_clear_error();
            std::size_t bytes = 0;
            const int result = ::SSL_read_ex(ssl_.get(), buffer.data() + got, buffer.size() - got, &bytes);
            if (result == 1) {
                got += bytes;
                continue;
            }
            if (got > 0) {
                break;  // what stopped us comes back at the next read
            }
            return stopped(result, read_wants_write_, SSL_ERROR_WANT_WRITE);
        }
        return {IoStatus::done, got};
    }

    // Why an operation did not go through. `crosswise` is set when it waits for the other direction, `crosswise_error`.
    IoResult stopped(int result, bool& crosswise, int crosswise_error) {
        const int error = ::SSL_get_error(ssl_.get(), result);
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
            crosswise = error == crosswise_error;
            return {IoStatus::would_block};
        }
        if (error == SSL_ERROR_ZERO_RETURN) {
            return {IoStatus::ended};
        }
        broken_ = true;
        const std::string reason = take_tls_error();
        if (reason.empty() && socket_->failure().empty()) {
            return {IoStatus::ended};  // the peer ended TCP without ending TLS
        }
        failure_ = reason.empty() ? socket_->failure() : "TLS: " + reason;
        return {IoStatus::failed};
    }

    std::string handshake_failure(int error) {
        const std::string reason = take_tls_error();
        const long verdict = ::SSL_get_verify_result(ssl_.get());
        if (verdict != X509_V_OK && ::SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE) {
            return "the server's certificate is not trusted: " + verdict_text(verdict);
        }
        if (!reason.empty()) {
            const bool plain = reason == "wrong version number";
            return "the TLS handshake failed: " + reason + (plain ? "; does the server speak TLS on this port?" : "");
        }
        if (error == SSL_ERROR_SYSCALL && !socket_->failure().empty()) {
            return "the TLS handshake failed: " + socket_->failure();
        }
        return "the server ended the connection in the TLS handshake";
    }

    [[nodiscard]] std::string verdict_text(long verdict) const {
        if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
            const char* name = ::SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
            return "host name mismatch" + (name != nullptr ? " (it is not for \"" + std::string{name} + "\")" : "");
        }
        return ::X509_verify_cert_error_string(verdict);
    }

    std::unique_ptr<Socket> socket_;
    std::shared_ptr<TlsContext> context_;
    Ssl ssl_;  // ends before the socket that it points to
    std::string failure_;
    bool read_wants_write_ = false;
    bool write_wants_read_ = false;
    bool broken_ = false;
};

// Sets the name to ask for and to verify.
bool set_name(SSL* ssl, const std::string& name, bool verify) {
    const bool address = ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), name.c_str()) == 1;
    if (address) {
        return true;  // SNI carries names only
    }
    ::ERR_clear_error();
    ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, name.c_str()) == 1 && (!verify || ::SSL_set1_host(ssl, name.c_str()) == 1);
}

}  // namespace

bool can_free_buffers(unsigned long version) {
    const auto release = [](unsigned long minor, unsigned long patch) {
        return 3UL << 28U | minor << 20U | patch << 4U;
    };
    for (const auto& [minor, mended] : {std::pair{0UL, 14UL}, {1UL, 6UL}, {2UL, 2UL}, {3UL, 1UL}}) {
        if (version < release(minor + 1, 0)) {
            return version >= release(minor, mended);
        }
    }
    return true;
}

BioMethod make_socket_method() {
    BioMethod method{::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "longhold socket")};
    if (method != nullptr) {
        ::BIO_meth_set_read(method.get(), bio_read);
        ::BIO_meth_set_write(method.get(), bio_write);
        ::BIO_meth_set_ctrl(method.get(), bio_control);
    }
    return method;
}

std::expected<std::unique_ptr<TlsTransport>, std::string> tls_transport(std::unique_ptr<Socket> socket,
                                                                        std::shared_ptr<TlsContext> context,
                                                                        const Url& url, const TlsOptions& options) {
    Ssl ssl{::SSL_new(context->ssl.get())};
    BIO* const bio = ssl != nullptr ? ::BIO_new(context->socket_method.get()) : nullptr;
    if (bio == nullptr) {
        return std::unexpected("TLS cannot be set up: " + take_tls_error());
    }
    ::BIO_set_data(bio, socket.get());
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(ssl.get(), bio, bio);
    const std::string& name = options.server_name.empty() ? url.host : options.server_name;
    if (!set_name(ssl.get(), name, options.verify)) {
        return std::unexpected("\"" + name + "\" cannot be asked for by TLS: " + take_tls_error());
    }
    return std::make_unique<OpensslTransport>(std::move(socket), std::move(context), std::move(ssl));
}

}  // namespace longhold::upstream
