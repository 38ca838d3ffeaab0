// SPDX-License-Identifier: Apache-2.0
#include <longhold/sink/ndjson/reader.h>

#include "line_reader.h"
#include "names.h"
#include "record_json.h"

namespace longhold::sink {

struct NdjsonReader::Impl {
    Files& files;
    std::string directory;
    std::vector<FileName> names;
    std::size_t next_name = 0;
    RecordParser parser;
    int descriptor = -1;
    std::optional<LineReader> lines;
    std::string name;  // of the open file
    std::uint64_t line = 0;
    std::uint64_t torn_tails = 0;

    Impl(Files& the_files, std::string the_directory, std::vector<FileName> the_names)
        : files(the_files), directory(std::move(the_directory)), names(std::move(the_names)) {}

    ~Impl() { close(); }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void close() {
        lines.reset();
        if (descriptor >= 0) {
            files.close(descriptor);
            descriptor = -1;
        }
    }

    std::unexpected<Error> unreadable(int error) {
        close();
        return std::unexpected(
            Error{Errc::unavailable, "cannot read '" + path_of(directory, name) + "': " + error_text(error)});
    }

    Result<void> open_next() {
        name = names[next_name++].text;
        line = 0;
        auto opened = files.open_to_read(path_of(directory, name));
        if (!opened) {
            return unreadable(opened.error());
        }
        descriptor = *opened;
        auto size = files.size(descriptor);
        if (!size) {
            return unreadable(size.error());
        }
        lines.emplace(files, descriptor, 0, *size);
        return {};
    }
};

Result<std::unique_ptr<NdjsonReader>> NdjsonReader::open(const std::string& directory, Files& files) {
    auto names = files.list(directory);
    if (!names) {
        return std::unexpected(
            Error{Errc::unavailable, "cannot list the directory '" + directory + "': " + error_text(names.error())});
    }
    return std::unique_ptr<NdjsonReader>{
        new NdjsonReader{std::make_unique<Impl>(files, directory, sink_files(*names))}};
}

NdjsonReader::NdjsonReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

NdjsonReader::~NdjsonReader() = default;

Result<bool> NdjsonReader::next(ReadRecord& record) {
    while (true) {
        if (!impl_->lines) {
            if (impl_->next_name == impl_->names.size()) {
                return false;
            }
            if (auto opened = impl_->open_next(); !opened) {
                return std::unexpected(opened.error());
            }
        }
        auto line = impl_->lines->next();
        if (!line) {
            return impl_->unreadable(line.error());
        }
        if (!*line) {
            impl_->torn_tails += impl_->lines->torn_bytes() > 0 ? 1 : 0;
            impl_->close();
            continue;
        }
        record.file = impl_->name;
        record.line = ++impl_->line;
        if (auto parsed = impl_->parser.parse(**line, record); !parsed) {
            return std::unexpected(Error{Errc::invalid, path_of(impl_->directory, impl_->name) + ":" +
                                                            std::to_string(impl_->line) + ": the line " +
                                                            parsed.error()});
        }
        return true;
    }
}

std::uint64_t NdjsonReader::torn_tails() const {
    return impl_->torn_tails;
}

}  // namespace longhold::sink
