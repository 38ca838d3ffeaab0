// SPDX-License-Identifier: Apache-2.0
// Log: structured lines to stderr, as text for people or JSON for machines.
//
// A line is an event name in plain words, and fields. Field values are never secrets.
//   text: 2026-11-30T08:00:00.123456Z info  connection opened connection=btc-usd epoch=3
//   json: {"time":"2026-11-30T08:00:00.123456Z","level":"info","event":"connection
//   opened","connection":"btc-usd","epoch":3}
//
// Thread-safety: all members may be called from any thread. Lines go through a queue of at most 1 MiB to a thread that
// writes them, so a slow, full or closed stderr never blocks or fails a caller: what does not fit is dropped, counted,
// and told in a line as soon as there is room.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>
#include <longhold/runtime/clock.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace longhold::telemetry {

enum class Level : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { text, json };

// One named value of a log line.
struct Field {
    std::string_view name;
    std::string value;
    bool is_number = false;

    Field(std::string_view field_name, std::string_view text) : name(field_name), value(text) {}

    Field(std::string_view field_name, const char* text) : name(field_name), value(text) {}

    Field(std::string_view field_name, const std::string& text) : name(field_name), value(text) {}

    template <std::integral Number>
    Field(std::string_view field_name, Number number)
        : name(field_name), value(std::to_string(number)), is_number(true) {}

    template <class Tag>
    Field(std::string_view field_name, const Name<Tag>& id) : name(field_name), value(id.text()) {}

    Field(std::string_view field_name, Epoch epoch)
        : name(field_name), value(std::to_string(epoch.value)), is_number(true) {}

    // As "1.25s".
    Field(std::string_view field_name, Duration duration);
};

class Log {
public:
    // To stderr, with the system's clock.
    Log(Level level, LogFormat format);
    // To `descriptor`, which stays the caller's; both outlive the log.
    Log(Level level, LogFormat format, const runtime::Clock& clock, int descriptor);
    // Writes what is queued, for at most one second.
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void debug(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::debug, event, fields); }

    void info(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::info, event, fields); }

    void warning(std::string_view event, std::initializer_list<Field> fields = {}) {
        write(Level::warning, event, fields);
    }

    void error(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::error, event, fields); }

    // Never throws and never blocks on the output. Values beyond 2 KiB are cut, bytes that are no UTF-8 are replaced.
    void write(Level level, std::string_view event, std::initializer_list<Field> fields) noexcept;

    // Waits until all that was queued before is written, for at most one second.
    void flush();

    // Lines that did not fit, or could not be written.
    [[nodiscard]] std::uint64_t dropped() const;

    void set_level(Level level);
    [[nodiscard]] bool wants(Level level) const;

    // A log that writes nothing, for tests.
    [[nodiscard]] static std::unique_ptr<Log> silent();

private:
    struct Impl;
    explicit Log(std::unique_ptr<Impl> impl);

    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::telemetry
