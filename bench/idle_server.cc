// SPDX-License-Identifier: Apache-2.0
// A server for run_worker: idle WebSocket connections, plain and over TLS. Prints its two URLs and serves until its
// standard input ends.
#include <cstdio>

#include "server_process.h"

int main() {
    using namespace longhold::bench;
    const ServerProcess plain{Service::idle, 0};
    const ServerProcess tls{Service::idle_tls, 0};
    std::printf("%s %s\n", plain.url().c_str(), tls.url().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
