// SPDX-License-Identifier: Apache-2.0
// How fast one connection receives small text messages from one blasting server: ours, a bare loop, and Node's `ws`, in
// turns in one run.
#include <fmt/format.h>
#include <longhold/runtime/loop.h>
#include <longhold/upstream/connection.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bare_client.h"
#include "server_process.h"

namespace longhold::bench {
namespace {

constexpr double seconds_per_run = 0.5;
constexpr int rounds = 5;

class CountingReceiver final : public upstream::Receiver {
public:
    CountingReceiver(const runtime::Clock& clock, double seconds) : clock_(clock), seconds_(seconds) {}

    void watch(upstream::Connection& connection) { connection_ = &connection; }

    void on_open() override {
        start_ = clock_.now();
        cpu_before_ = cpu_seconds_used();
    }

    bool on_message(upstream::Message message) override {
        ++measured.messages;
        measured.bytes += message.data.size();
        return true;
    }

    void on_burst_end() override {
        const Duration passed = clock_.now() - start_;
        measured.seconds = std::chrono::duration<double>(passed).count();
        if (measured.seconds >= seconds_) {
            measured.cpu_seconds = cpu_seconds_used() - cpu_before_;
            connection_->abort();
        }
    }

    Measured measured;

private:
    const runtime::Clock& clock_;
    double seconds_;
    Instant start_{};
    double cpu_before_ = 0;
    upstream::Connection* connection_ = nullptr;
};

Measured run_ours(const std::string& url) {
    const runtime::SystemClock clock;
    runtime::Loop loop{clock};
    upstream::SharedReadBuffer buffer;
    upstream::TlsContexts tls;
    runtime::AbortTable table{4};
    upstream::SystemEntropy entropy;
    upstream::ConnectionOptions options;
    options.url = *upstream::parse_url(url);
    upstream::Connection connection{{loop, buffer, tls, table, 0, entropy}, options};
    CountingReceiver receiver{clock, seconds_per_run};
    receiver.watch(connection);
    boost::asio::co_spawn(loop.context(), connection.run(receiver),
                          [&](std::exception_ptr, const upstream::Ended&) { loop.finish(); });
    loop.run();
    return receiver.measured;
}

// Runs the client in Node; nothing measured when Node or `ws` is not installed.
Measured run_node(const std::string& url) {
    const std::string command =
        fmt::format("node '{}/ws_client.mjs' '{}' {} 2>/dev/null", LONGHOLD_BENCH_FOLDER, url, seconds_per_run);
    Measured measured;
    FILE* const output = ::popen(command.c_str(), "r");
    if (output != nullptr) {
        unsigned long messages = 0;
        unsigned long bytes = 0;
        if (std::fscanf(output, "%lu %lu %lf", &messages, &bytes, &measured.seconds) == 3) {
            measured.messages = messages;
            measured.bytes = bytes;
        }
        ::pclose(output);
    }
    return measured;
}

void print_row(const char* client, std::size_t message_bytes, const Measured& best, const Measured& bare,
               const Measured& node) {
    if (best.messages == 0) {
        fmt::print("{:<22} {:>7}   not measured: needs node, and `npm ci` in bench/\n", client, message_bytes);
        return;
    }
    const std::string to_node = node.messages > 0 ? fmt::format("{:.2f}", best.rate() / node.rate()) : "-";
    const std::string cpu = best.cpu_seconds > 0 ? fmt::format("{:.0f}", best.cpu_nanoseconds()) : "-";
    fmt::print("{:<22} {:>7} {:>14.0f} {:>10.0f} {:>12} {:>12.2f} {:>10}\n", client, message_bytes, best.rate(),
               static_cast<double>(best.bytes) / best.seconds / 1e6, cpu, bare.rate() / best.rate(), to_node);
}

void keep_best(Measured& best, const Measured& one) {
    if (one.rate() > best.rate()) {
        best = one;
    }
}

}  // namespace

int run_codec_bench() {
    // Before any thread: the servers are forked.
    const std::array<std::size_t, 2> sizes{100, 1'024};
    const ServerProcess small{Service::blast, sizes[0]};
    const ServerProcess large{Service::blast, sizes[1]};
    fmt::print("{:<22} {:>7} {:>14} {:>10} {:>12} {:>12} {:>10}\n", "client (best of 5)", "bytes", "messages/s", "MB/s",
               "CPU ns each", "bare/this", "this/node");
    int worst = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::string url = i == 0 ? small.url() : large.url();
        Measured bare;
        Measured ours;
        Measured node;
        for (int round = 0; round < rounds; ++round) {
            keep_best(bare, run_bare_client(url, seconds_per_run));
            keep_best(ours, run_ours(url));
            keep_best(node, run_node(url));
        }
        print_row("bare recv and walk", sizes[i], bare, bare, node);
        print_row("longhold Connection", sizes[i], ours, bare, node);
        print_row("Node ws", sizes[i], node, bare, node);
        if (ours.rate() * 1.5 < bare.rate()) {
            worst = 1;
        }
    }
    fmt::print("{}\n", worst == 0 ? "within 1.5 of the bare loop" : "NOT within 1.5 of the bare loop");
    return 0;
}

}  // namespace longhold::bench

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // figures show as they come
    return longhold::bench::run_codec_bench();
}
