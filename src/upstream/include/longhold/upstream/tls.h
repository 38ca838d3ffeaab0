// SPDX-License-Identifier: Apache-2.0
// TLS settings of a connection, and the contexts that connections share.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace longhold::upstream {

struct TlsOptions {
    // False accepts any certificate for any name: for tests on one's own machine only.
    bool verify = true;
    // PEM file of the authorities to trust instead of the system's; empty means the system's.
    std::string ca_file{};
    // Name to ask for (SNI) and to verify, instead of the URL's host.
    std::string server_name{};

    friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

struct TlsContext;

// Loads each set of authorities once. Thread-safety: none; each loop owns one. Lifetime: may end before the connections
// do.
class TlsContexts {
public:
    // The context for `options`. Errors: a sentence naming the file that cannot be read or holds no certificate.
    [[nodiscard]] std::expected<std::shared_ptr<TlsContext>, std::string> get(const TlsOptions& options);

    // Reads the files anew for the connections to come.
    void forget() { contexts_.clear(); }

private:
    std::map<std::pair<bool, std::string>, std::shared_ptr<TlsContext>> contexts_;
};

}  // namespace longhold::upstream
