// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/runtime/thread.h>
#include <longhold/telemetry/log.h>
#include <longhold/telemetry/valid_utf8.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace longhold::telemetry {
namespace {

constexpr std::size_t queue_bytes_max = 1024 * 1024;
constexpr std::size_t value_bytes_max = 2 * 1024;
// What a pipe that poll(2) calls writable takes without blocking (PIPE_BUF).
constexpr std::size_t write_bytes_max = 4096;
constexpr int poll_ms = 100;
constexpr Duration drain_max = std::chrono::seconds{1};

std::string_view level_name(Level level) {
    switch (level) {
        case Level::debug:
            return "debug";
        case Level::info:
            return "info";
        case Level::warning:
            return "warning";
        case Level::error:
            return "error";
    }
    return "error";
}

std::string bounded(std::string_view value) {
    if (value.size() <= value_bytes_max) {
        return to_valid_utf8(value);
    }
    return to_valid_utf8(value.substr(0, value_bytes_max)) + "...";
}

bool needs_quotes(std::string_view value) {
    return value.empty() || std::ranges::any_of(value, [](char c) {
               return static_cast<unsigned char>(c) <= 0x20U || c == '"' || c == '=' || c == 0x7f;
           });
}

// Decimal seconds, exact: "1.25s".
std::string in_seconds(Duration duration) {
    constexpr auto per_second = static_cast<std::uint64_t>(Duration::period::den);
    const bool negative = duration < Duration::zero();
    const auto count = static_cast<std::uint64_t>(duration.count());
    const std::uint64_t size = negative ? 0 - count : count;
    std::string text = (negative ? "-" : "") + std::to_string(size / per_second);
    if (size % per_second != 0) {
        const std::string fraction = std::to_string(per_second + size % per_second);
        text += "." + fraction.substr(1, fraction.find_last_not_of('0'));
    }
    return text + "s";
}

std::string text_line(WallTime time, Level level, std::string_view event, std::initializer_list<Field> fields) {
    std::string line = format_rfc3339(time);
    const std::string_view name = level == Level::warning ? "warn" : level_name(level);
    line.append(" ").append(name).append(6 - name.size(), ' ');
    // An event is the program's own words, but a line must stay one line.
    std::ranges::replace_copy_if(
        bounded(event), std::back_inserter(line), [](char c) { return static_cast<unsigned char>(c) < 0x20U; }, ' ');
    for (const Field& field : fields) {
        const std::string value = bounded(field.value);
        line.append(" ").append(field.name).append("=");
        if (needs_quotes(value)) {
            append_json_string(line, value);
        } else {
            line.append(value);
        }
    }
    line.push_back('\n');
    return line;
}

std::string json_line(WallTime time, Level level, std::string_view event, std::initializer_list<Field> fields) {
    JsonWriter json;
    json.begin_object().key("time").value(format_rfc3339(time)).key("level").value(level_name(level));
    json.key("event").value(bounded(event));
    for (const Field& field : fields) {
        json.key(field.name);
        if (field.is_number) {
            json.raw(field.value);
        } else {
            json.value(bounded(field.value));
        }
    }
    json.end_object();
    return json.take() + "\n";
}

}  // namespace

Field::Field(std::string_view field_name, Duration duration) : name(field_name), value(in_seconds(duration)) {}

// The queue and its thread. This is the one place with a mutex: it is held for a push or a swap, never during output.
struct Log::Impl {
    Impl(Level first_level, LogFormat given_format, const runtime::Clock& given_clock, int given_descriptor)
        : level(first_level), format(given_format), clock(given_clock), descriptor(given_descriptor) {}

    ~Impl() {
        {
            const std::lock_guard lock{mutex};
            stopping = true;
            drain_until = clock.now() + drain_max;
        }
        changed.notify_all();
        thread.reset();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void push(std::string line);
    void run();
    void write_line(std::string_view line);
    [[nodiscard]] bool give_up();

    static const runtime::Clock& system_clock() {
        static const runtime::SystemClock clock;
        return clock;
    }

    std::atomic<Level> level;
    LogFormat format;
    const runtime::Clock& clock;
    int descriptor;  // -1: silent
    std::atomic<std::uint64_t> dropped{0};

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> lines;
    std::size_t bytes = 0;
    std::uint64_t dropped_told = 0;
    bool writing = false;
    bool stopping = false;
    Instant drain_until{};

    std::optional<runtime::Thread> thread;
};

void Log::Impl::push(std::string line) {
    {
        const std::lock_guard lock{mutex};
        if (bytes + line.size() > queue_bytes_max) {
            dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        bytes += line.size();
        lines.push_back(std::move(line));
    }
    changed.notify_all();
}

void Log::Impl::run() {
    std::unique_lock lock{mutex};
    while (true) {
        changed.wait(lock, [this] { return stopping || !lines.empty(); });
        if (lines.empty()) {
            return;
        }
        const std::string line = std::move(lines.front());
        lines.pop_front();
        bytes -= line.size();
        const std::uint64_t lost = dropped.load(std::memory_order_relaxed) - dropped_told;
        dropped_told += lost;
        writing = true;
        lock.unlock();
        if (lost != 0) {
            const auto now = clock.wall_now();
            write_line(format == LogFormat::json
                           ? json_line(now, Level::warning, "log lines dropped", {{"lines", lost}})
                           : text_line(now, Level::warning, "log lines dropped", {{"lines", lost}}));
        }
        write_line(line);
        lock.lock();
        writing = false;
        changed.notify_all();
    }
}

bool Log::Impl::give_up() {
    const std::lock_guard lock{mutex};
    return stopping && clock.now() >= drain_until;
}

void Log::Impl::write_line(std::string_view line) {
    while (!line.empty()) {
        pollfd waiting{descriptor, POLLOUT, 0};
        const bool last_try = give_up();
        if (::poll(&waiting, 1, last_try ? 0 : poll_ms) == 0) {
            if (last_try) {
                break;
            }
            continue;
        }
        const ssize_t written = ::write(descriptor, line.data(), std::min(line.size(), write_bytes_max));
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            break;
        }
        line.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    if (!line.empty()) {
        dropped.fetch_add(1, std::memory_order_relaxed);
    }
}

Log::Log(Level level, LogFormat format) : Log(level, format, Impl::system_clock(), STDERR_FILENO) {}

Log::Log(Level level, LogFormat format, const runtime::Clock& clock, int descriptor)
    : impl_(std::make_unique<Impl>(level, format, clock, descriptor)) {
    impl_->thread.emplace("log", [impl = impl_.get()] { impl->run(); });
}

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Log::~Log() = default;

std::unique_ptr<Log> Log::silent() {
    auto impl = std::make_unique<Impl>(Level::error, LogFormat::text, Impl::system_clock(), -1);
    return std::unique_ptr<Log>{new Log{std::move(impl)}};
}

void Log::write(Level level, std::string_view event, std::initializer_list<Field> fields) noexcept {
    if (!wants(level)) {
        return;
    }
    try {
        const WallTime now = impl_->clock.wall_now();
        impl_->push(impl_->format == LogFormat::json ? json_line(now, level, event, fields)
                                                     : text_line(now, level, event, fields));
    } catch (...) {  // no memory for the line
        impl_->dropped.fetch_add(1, std::memory_order_relaxed);
    }
}

void Log::flush() {
    if (impl_->descriptor < 0) {
        return;
    }
    std::unique_lock lock{impl_->mutex};
    impl_->changed.wait_for(lock, drain_max, [this] { return impl_->lines.empty() && !impl_->writing; });
}

std::uint64_t Log::dropped() const {
    return impl_->dropped.load(std::memory_order_relaxed);
}

void Log::set_level(Level level) {
    impl_->level.store(level, std::memory_order_relaxed);
}

bool Log::wants(Level level) const {
    return impl_->descriptor >= 0 && level >= impl_->level.load(std::memory_order_relaxed);
}

}  // namespace longhold::telemetry
