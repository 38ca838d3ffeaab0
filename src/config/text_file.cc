// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <longhold/config/text_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace longhold::config {
namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

std::expected<std::string, std::string> read_all(std::FILE* opened) {
    const std::unique_ptr<std::FILE, CloseFile> file{opened};
    if (!file) {
        return std::unexpected(std::strerror(errno));
    }
    std::string text;
    std::string chunk(64UL * 1024, '\0');
    while (true) {
        const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get());
        if (count == 0) {
            break;
        }
        text.append(chunk, 0, count);
        if (text.size() > text_file_bytes_max) {
            return std::unexpected("it is larger than 64 MiB");
        }
    }
    if (std::ferror(file.get()) != 0) {
        return std::unexpected(std::strerror(errno));
    }
    return text;
}

}  // namespace

std::expected<std::string, std::string> read_text_file(const std::string& path) {
    return read_all(std::fopen(path.c_str(), "rbe"));
}

std::expected<std::string, std::string> read_regular_file(const std::string& path) {
    // Not blocking: opening a pipe would otherwise wait for its writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return std::unexpected(std::strerror(errno));
    }
    struct stat about{};
    if (::fstat(descriptor, &about) != 0 || (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))) {
        ::close(descriptor);
        return std::unexpected("it is no regular file");
    }
    return read_all(::fdopen(descriptor, "rb"));
}

}  // namespace longhold::config
