// SPDX-License-Identifier: Apache-2.0
// ConsoleStream: a Console as a std::ostream, for layers that print to one.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "console.h"

namespace longhold::app {

// Writes to standard output whenever the stream is flushed, and at its end. Lifetime: the console outlives it.
class ConsoleStream final : public std::streambuf {
public:
    explicit ConsoleStream(Console& console) : console_(console), stream_(this) {}

    ~ConsoleStream() override { ConsoleStream::sync(); }

    ConsoleStream(const ConsoleStream&) = delete;
    ConsoleStream& operator=(const ConsoleStream&) = delete;

    [[nodiscard]] std::ostream& stream() { return stream_; }

protected:
    int_type overflow(int_type character) override {
        if (!traits_type::eq_int_type(character, traits_type::eof())) {
            text_ += traits_type::to_char_type(character);
        }
        return traits_type::not_eof(character);
    }

    std::streamsize xsputn(const char* text, std::streamsize size) override {
        text_.append(text, static_cast<std::size_t>(size));
        return size;
    }

    int sync() override {
        if (!text_.empty()) {
            console_.write(text_);
            text_.clear();
        }
        return 0;
    }

private:
    Console& console_;
    std::string text_;
    std::ostream stream_;
};

}  // namespace longhold::app
