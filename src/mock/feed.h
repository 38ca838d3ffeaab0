// SPDX-License-Identifier: Apache-2.0
// Feed: all that is known of one id: its numbering, its faults, and what happened to its sockets.
#pragma once

#include <longhold/base/time.h>
#include <longhold/mock/faults.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::mock {

struct Socket;

enum class CloseHow : std::uint8_t {
    live,
    client_close,
    eof,
    reset,
    server_close,
    dropped,
    protocol_error,
    server_stop
};

[[nodiscard]] std::string_view text(CloseHow how);

// One run of an id's numbering, from 1.
struct Stream {
    Instant started{};
    std::optional<Instant> ended{};
    std::uint64_t final_head = 0;  // once ended
};

// What a socket was sent of one stream.
struct Sent {
    std::uint32_t stream = 0;  // from 1
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
};

// One socket's life, from the answer to its upgrade to the end that the server saw.
struct Interval {
    Instant opened{};
    std::optional<Instant> closed{};
    CloseHow how = CloseHow::live;
    std::uint16_t remote_port = 0;
    std::optional<std::uint64_t> cursor{};  // as asked for
    std::vector<Sent> sent{};
    std::uint64_t pings = 0;     // from the client
    std::uint64_t messages = 0;  // from the client
    std::string last_message{};  // its first 256 bytes
};

class Feed {
public:
    Feed(std::string id, double rate, Instant started);

    [[nodiscard]] const std::string& id() const { return id_; }

    // The highest number of `stream` (from 1) at `now`; 0 before the first.
    [[nodiscard]] std::uint64_t head(std::uint32_t stream, Instant now) const;
    // When `seq` of the current stream is due; nothing when it never is.
    [[nodiscard]] std::optional<Instant> due(std::uint64_t seq) const;

    [[nodiscard]] std::uint32_t stream() const { return static_cast<std::uint32_t>(streams_.size()); }

    [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }

    void restart(Instant now);

    // A new fault takes the place of one of its kind.
    void set_fault(Fault fault);
    // Removes that kind, or all.
    void clear_faults(std::optional<FaultKind> kind);

    // Whether a fault that lasts strikes a socket that was sent so many messages.
    [[nodiscard]] const Fault* lasting(FaultKind kind, std::uint64_t sent) const;
    // The same for one that happens; it then has happened once more.
    [[nodiscard]] std::optional<Fault> take(FaultKind kind, std::uint64_t sent);
    // How many more messages a socket may be sent before another fault begins to count.
    [[nodiscard]] std::uint64_t until_fault(std::uint64_t sent) const;

    [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

    // Sockets whose interval is open, oldest first.
    std::vector<Socket*> live;
    std::vector<Interval> intervals;
    std::size_t live_max = 0;
    std::uint64_t refused = 0;  // upgrades answered with anything but 101

private:
    std::string id_;
    double rate_;
    std::vector<Stream> streams_;
    std::vector<Fault> faults_;
};

using Feeds = std::map<std::string, std::unique_ptr<Feed>, std::less<>>;

}  // namespace longhold::mock
