// SPDX-License-Identifier: Apache-2.0
// What an idle connection costs in resident memory: 10,000 plain and 2,000 TLS ones in this process, their server in
// another.
#include <fmt/format.h>
#include <longhold/runtime/task_group.h>
#include <longhold/upstream/connection.h>
#include <longhold/upstream/descriptor_limit.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "server_process.h"

namespace longhold::bench {
namespace {

using upstream::Connection;

constexpr int dials_at_once = 64;
constexpr Duration patience = std::chrono::seconds{60};

double resident_kib() {
    unsigned long total = 0;
    unsigned long resident = 0;
    if (FILE* const file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
        if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) {
            resident = 0;
        }
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

class Fleet {
public:
    Fleet(runtime::Loop& loop, const ServerProcess& server, std::size_t count)
        : loop_(loop), count_(count), table_(count + 8), group_(loop), changed_(loop) {
        options_.url = *upstream::parse_url(server.url());
        options_.tls.verify = false;
        options_.attempt_timeout = patience;
        options_.ping_every = std::chrono::hours{1};  // the idle server answers none
        if (options_.url.secure) {
            (void)tls_.get(options_.tls);  // loading it is no connection's cost
        }
    }

    // Opens all; returns resident KiB for each.
    runtime::Task<double> open_all() {
        held_.reserve(count_);
        const double before = resident_kib();
        while (held_.size() < count_ && failed_.empty()) {
            if (held_.size() - opened_ >= dials_at_once) {
                co_await changed_.wait_until(loop_.clock().now() + patience);
                continue;
            }
            held_.push_back(std::make_unique<Held>(*this));
            group_.spawn(dial(*held_.back()));
        }
        while (opened_ < count_ && failed_.empty()) {
            co_await changed_.wait_until(loop_.clock().now() + patience);
        }
        const double after = resident_kib();
        co_return (after - before) / static_cast<double>(count_);
    }

    runtime::Task<> close_all() {
        closing_ = true;
        group_.stop();
        co_await group_.join();
        for (const auto& held : held_) {
            held->connection.abort();
        }
        while (opened_ > 0) {
            co_await changed_.wait_until(loop_.clock().now() + patience);
        }
    }

    [[nodiscard]] const std::string& failed() const { return failed_; }

private:
    struct Held final : upstream::Receiver {
        explicit Held(Fleet& owner) : fleet(owner), connection(owner.shared(), owner.options_) {}

        void on_open() override {
            ++fleet.opened_;
            fleet.changed_.notify();
        }

        bool on_message(upstream::Message) override { return true; }

        void on_burst_end() override {}

        void on_ended(upstream::Ended ended) override { fleet.note_failure(ended); }

        Fleet& fleet;
        Connection connection;
    };

    runtime::Task<> dial(Held& held) {
        if (const auto failed = co_await held.connection.open(held)) {
            note_failure(*failed);
        }
    }

    void note_failure(const upstream::Ended& ended) {
        if (ended.opened) {
            --opened_;
        }
        if (!closing_) {
            failed_ = std::string{upstream::name_of(ended.reason)} + ": " + ended.detail;
        }
        changed_.notify();
    }

    [[nodiscard]] upstream::LoopShared shared() { return {loop_, buffer_, tls_, table_, 0, entropy_}; }

    runtime::Loop& loop_;
    std::size_t count_;
    upstream::ConnectionOptions options_;
    upstream::SharedReadBuffer buffer_;
    upstream::TlsContexts tls_;
    upstream::SystemEntropy entropy_;
    runtime::AbortTable table_;
    std::vector<std::unique_ptr<Held>> held_;
    std::size_t opened_ = 0;
    bool closing_ = false;
    std::string failed_;
    runtime::TaskGroup group_;
    runtime::Event changed_;
};

runtime::Task<> measure(runtime::Loop& loop, const ServerProcess& server, const char* name, std::size_t count) {
    Fleet fleet{loop, server, count};
    const Instant start = loop.clock().now();
    const double kib = co_await fleet.open_all();
    const double seconds = std::chrono::duration<double>(loop.clock().now() - start).count();
    if (fleet.failed().empty()) {
        fmt::print("{:<8} {:>8} {:>18.2f} {:>14.0f}\n", name, count, kib, static_cast<double>(count) / seconds);
    } else {
        fmt::print("{:<8} {:>8}   failed: {}\n", name, count, fleet.failed());
    }
    co_await fleet.close_all();
}

runtime::Task<> measure_both(runtime::Loop& loop, const ServerProcess& plain, const ServerProcess& tls) {
    co_await measure(loop, plain, "plain", 10'000);
    co_await measure(loop, tls, "tls", 2'000);
}

}  // namespace

int run_idle_bench() {
    const ServerProcess plain{Service::idle, 0};
    const ServerProcess tls{Service::idle_tls, 0};
    upstream::raise_descriptor_limit();
    const runtime::SystemClock clock;
    runtime::Loop loop{clock};
    fmt::print("{:<8} {:>8} {:>18} {:>14}\n", "kind", "idle", "KiB resident each", "connects/s");
    boost::asio::co_spawn(loop.context(), measure_both(loop, plain, tls), [&](std::exception_ptr) { loop.finish(); });
    loop.run();
    return 0;
}

}  // namespace longhold::bench

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // figures show as they come
    return longhold::bench::run_idle_bench();
}
