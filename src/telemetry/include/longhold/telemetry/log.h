// SPDX-License-Identifier: Apache-2.0
// Log: structured lines to stderr, as text for people or JSON for machines.
//
// A line is an event name in plain words, and fields. Field values are never secrets.
// Thread-safety: all members may be called from any thread. A full or closed stderr never blocks or
// fails a caller for longer than a write takes.
#pragma once

#include <longhold/base/ids.h>
#include <longhold/base/time.h>

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
    Log(Level level, LogFormat format);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void debug(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::debug, event, fields); }

    void info(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::info, event, fields); }

    void warning(std::string_view event, std::initializer_list<Field> fields = {}) {
        write(Level::warning, event, fields);
    }

    void error(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::error, event, fields); }

    void write(Level level, std::string_view event, std::initializer_list<Field> fields);

    void set_level(Level level);
    [[nodiscard]] bool wants(Level level) const;

    // A log that writes nothing, for tests.
    [[nodiscard]] static std::unique_ptr<Log> silent();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace longhold::telemetry
