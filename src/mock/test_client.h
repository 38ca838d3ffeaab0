// SPDX-License-Identifier: Apache-2.0
// TestClient: a blocking WebSocket client on a raw socket, with its own framing, for the tests of the mock upstream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhold::mock {

struct ReceivedFrame {
    unsigned first_byte = 0;  // FIN, reserved bits and opcode, as they came
    std::string payload;
    bool masked = false;

    [[nodiscard]] unsigned opcode() const { return first_byte & 0x0fU; }
};

// Every wait ends after a deadline of some seconds.
class TestClient {
public:
    explicit TestClient(std::uint16_t port, int receive_buffer = 0);
    ~TestClient();
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    void send(std::string_view bytes) const;
    void send_frame(unsigned first_byte, std::string_view payload, bool masked = true) const;
    // Asks for an upgrade; the head of the answer.
    std::string upgrade(std::string_view target);
    // The head of the next answer; empty when the connection ended.
    std::string read_head();
    // Everything up to the end of the connection.
    std::string read_all();
    // The next frame; nothing at the end of the connection.
    std::optional<ReceivedFrame> read_frame();
    // The next message's sequence number; 0 when there is none.
    std::uint64_t read_seq();
    // Whether nothing arrives for so long.
    [[nodiscard]] bool is_silent_for(int milliseconds) const;

    // Whether the connection ended with a reset rather than an end of file.
    [[nodiscard]] bool was_reset() const { return was_reset_; }

    [[nodiscard]] std::uint16_t local_port() const;
    // Closes: with a FIN, or a RST.
    // Sends FIN and goes on reading: unlike close() with unread bytes, which makes the kernel send RST.
    void finish_sending();
    void close(bool reset = false);

private:
    bool read_more();

    int descriptor_ = -1;
    std::string buffer_;
    bool was_reset_ = false;
};

// One exchange; the whole answer.
[[nodiscard]] std::string http(std::uint16_t port, std::string_view method, std::string_view target);

}  // namespace longhold::mock
