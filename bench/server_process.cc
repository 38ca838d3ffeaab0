// SPDX-License-Identifier: Apache-2.0
#include "server_process.h"

#include <longhold/base/invariant.h>
#include <longhold/upstream/descriptor_limit.h>
#include <longhold/upstream/handshake.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace longhold::bench {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10U;

// Whole unmasked text frames, one after another.
std::string make_block(std::size_t message_bytes) {
    std::string frame{'\x81'};
    if (message_bytes < 126) {
        frame.push_back(static_cast<char>(message_bytes));
    } else {
        frame.push_back(126);
        frame.push_back(static_cast<char>(message_bytes >> 8U));
        frame.push_back(static_cast<char>(message_bytes & 0xffU));
    }
    constexpr std::string_view text = R"({"seq":88123,"price":"97012.51","note":"plain text as feeds send it"},)";
    while (frame.size() < message_bytes + (message_bytes < 126 ? 2 : 4)) {
        frame.push_back(text[frame.size() % text.size()]);
    }
    std::string block;
    while (block.size() < block_bytes) {
        block += frame;
    }
    return block;
}

std::string answer_to(std::string_view request) {
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    const std::size_t at = request.find(name);
    const std::string_view key = at == std::string_view::npos ? "" : request.substr(at + name.size(), 24);
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
           upstream::accept_for(key) + "\r\n\r\n";
}

template <class Read, class Write>
void upgrade(Read read, Write write) {
    std::string request;
    std::array<char, 4'096> buffer{};
    while (request.find("\r\n\r\n") == std::string::npos) {
        const long got = read(buffer.data(), buffer.size());
        if (got <= 0) {
            return;
        }
        request.append(buffer.data(), static_cast<std::size_t>(got));
    }
    write(answer_to(request));
}

void upgrade_plain(int socket) {
    upgrade([&](char* out, std::size_t size) { return ::recv(socket, out, size, 0); },
            [&](const std::string& text) { ::send(socket, text.data(), text.size(), MSG_NOSIGNAL); });
}

void blast(int socket, const std::string& block) {
    upgrade_plain(socket);
    std::size_t at = 0;
    for (;;) {
        const ssize_t sent = ::send(socket, block.data() + at, block.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) {
            break;
        }
        at = (at + static_cast<std::size_t>(sent)) % block.size();
    }
    ::close(socket);
}

SSL_CTX* self_signed_context() {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = ::X509_new();
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -3'600);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate), 3'600);
    ::X509_set_pubkey(certificate, key);
    ::X509_sign(certificate, key, ::EVP_sha256());
    SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
    ::SSL_CTX_use_certificate(context, certificate);
    ::SSL_CTX_use_PrivateKey(context, key);
    ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return context;
}

void upgrade_tls(int socket, SSL_CTX* context) {
    SSL* const ssl = ::SSL_new(context);
    ::SSL_set_fd(ssl, socket);
    if (::SSL_accept(ssl) == 1) {
        upgrade([&](char* out, std::size_t size) { return ::SSL_read(ssl, out, static_cast<int>(size)); },
                [&](const std::string& text) { ::SSL_write(ssl, text.data(), static_cast<int>(text.size())); });
    }
}

[[noreturn]] void serve(int listener, Service service, std::size_t message_bytes) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    upstream::raise_descriptor_limit();
    const std::string block = service == Service::blast ? make_block(message_bytes) : "";
    SSL_CTX* const context = service == Service::idle_tls ? self_signed_context() : nullptr;
    for (;;) {
        const int socket = ::accept(listener, nullptr, nullptr);
        if (socket < 0) {
            ::_exit(1);
        }
        if (service == Service::blast) {
            blast(socket, block);
        } else if (service == Service::idle) {
            upgrade_plain(socket);
        } else {
            upgrade_tls(socket, context);
        }
    }
}

}  // namespace

ServerProcess::ServerProcess(Service service, std::size_t message_bytes) : secure_(service == Service::idle_tls) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool listening = ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                           ::listen(listener, 1'024) == 0 &&
                           ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    invariant(listening, "the benchmark's server listens");
    port_ = ntohs(address.sin_port);
    process_ = ::fork();
    invariant(process_ >= 0, "the benchmark's server process starts");
    if (process_ == 0) {
        serve(listener, service, message_bytes);
    }
    ::close(listener);
}

ServerProcess::~ServerProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

std::string ServerProcess::url() const {
    return std::string{secure_ ? "wss" : "ws"} + "://127.0.0.1:" + std::to_string(port_) + "/";
}

}  // namespace longhold::bench
