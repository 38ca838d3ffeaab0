// SPDX-License-Identifier: Apache-2.0
// ConnectionRig: runs Connections on a loop of their own, for tests.
#pragma once

#include <longhold/runtime/task_group.h>
#include <longhold/upstream/connection.h>

#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace longhold::upstream {

// Notes what arrives, and lets a test act on it.
class RecordingReceiver : public Receiver {
public:
    void on_stage(Stage stage, std::string_view detail) override { stages.emplace_back(stage, detail); }

    void on_open() override {
        opened = true;
        if (when_open) {
            when_open();
        }
    }

    bool on_message(Message message) override {
        messages.emplace_back(message.data);
        return !when_message || when_message(messages.back());
    }

    void on_burst_end() override { ++bursts; }

    std::function<void()> when_open;
    std::function<bool(const std::string&)> when_message;  // false: stop reading
    std::vector<std::string> messages;
    std::vector<std::pair<Stage, std::string>> stages;
    int bursts = 0;
    bool opened = false;
};

class ConnectionRig {
public:
    [[nodiscard]] LoopShared shared() { return {loop, buffer, tls, table, 7, entropy}; }

    // Runs `connection` to its end.
    Ended run(Connection& connection, Receiver& receiver) {
        Ended ended;
        std::exception_ptr failure;
        boost::asio::co_spawn(loop.context(), connection.run(receiver), [&](std::exception_ptr thrown, Ended result) {
            failure = std::move(thrown);
            ended = std::move(result);
            loop.finish();
        });
        loop.run();
        if (failure) {
            std::rethrow_exception(failure);
        }
        return ended;
    }

    static ConnectionOptions options(std::uint16_t port, const std::string& scheme = "ws",
                                     const std::string& host = "127.0.0.1") {
        ConnectionOptions out;
        out.url = *parse_url(scheme + "://" + host + ":" + std::to_string(port) + "/feed?x=1");
        out.attempt_timeout = std::chrono::seconds{5};
        return out;
    }

    runtime::SystemClock clock;
    runtime::Loop loop{clock};
    SharedReadBuffer buffer;
    TlsContexts tls;
    runtime::AbortTable table{8};
    SeededEntropy entropy{1};
};

}  // namespace longhold::upstream
