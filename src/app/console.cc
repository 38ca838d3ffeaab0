// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace longhold::app {
namespace {

constexpr std::size_t input_bytes_max = 64UL * 1024 * 1024;

// Writes all of `text`; returns the error that stopped it, or 0.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno;
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

// Appends what one read gives. Returns whether there may be more. Errors: errno.
std::expected<bool, int> read_some(std::string& into) {
    std::array<char, 16'384> chunk{};
    while (true) {
        const ssize_t count = ::read(STDIN_FILENO, chunk.data(), chunk.size());
        if (count >= 0) {
            into.append(chunk.data(), static_cast<std::size_t>(count));
            return count > 0;
        }
        if (errno != EINTR) {
            return std::unexpected(errno);
        }
    }
}

}  // namespace

void SystemConsole::write(std::string_view text) {
    if (broken_ == 0) {
        broken_ = write_all(STDOUT_FILENO, text);
    }
}

void SystemConsole::write_error(std::string_view text) {
    (void)write_all(STDERR_FILENO, text);
}

std::expected<std::string, std::string> SystemConsole::read_all() {
    std::string text = std::exchange(unread_, {});
    while (true) {
        const auto more = read_some(text);
        if (!more) {
            return std::unexpected(std::strerror(more.error()));
        }
        if (text.size() > input_bytes_max) {
            return std::unexpected("it is larger than 64 MiB");
        }
        if (!*more) {
            return text;
        }
    }
}

std::optional<std::string> SystemConsole::read_line() {
    while (true) {
        if (const auto end = unread_.find('\n'); end != std::string::npos) {
            std::string line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return line;
        }
        const auto more = read_some(unread_);
        if (!more || !*more || unread_.size() > input_bytes_max) {
            return unread_.empty() ? std::nullopt : std::optional{std::exchange(unread_, {})};
        }
    }
}

bool SystemConsole::output_is_terminal() const {
    return ::isatty(STDOUT_FILENO) == 1;
}

bool SystemConsole::error_is_terminal() const {
    return ::isatty(STDERR_FILENO) == 1;
}

bool SystemConsole::input_is_terminal() const {
    return ::isatty(STDIN_FILENO) == 1;
}

}  // namespace longhold::app
