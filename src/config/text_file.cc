// SPDX-License-Identifier: Apache-2.0
#include <longhold/config/text_file.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace longhold::config {
namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::expected<std::string, std::string> read_text_file(const std::string& path) {
    const std::unique_ptr<std::FILE, CloseFile> file{std::fopen(path.c_str(), "rbe")};
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

}  // namespace longhold::config
