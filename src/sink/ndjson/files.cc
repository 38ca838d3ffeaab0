// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <longhold/sink/ndjson/files.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace longhold::sink {
namespace {

std::unexpected<int> failed() {
    return std::unexpected(errno);
}

// Calls again while a signal interrupts. Returns what the call returned.
template <class Call>
auto uninterrupted(Call call) {
    auto answer = call();
    while (answer < 0 && errno == EINTR) {
        answer = call();
    }
    return answer;
}

IoResult<void> done_or_failed(int answer) {
    if (answer < 0) {
        return failed();
    }
    return {};
}

IoResult<int> open_regular(const std::string& path, int flags) {
    const int descriptor =
        uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
    if (descriptor < 0) {
        return failed();
    }
    struct stat found{};
    if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
        ::close(descriptor);
        return std::unexpected(EINVAL);
    }
    return descriptor;
}

class SystemFiles final : public Files {
public:
    IoResult<int> create(const std::string& path) override {
        const int descriptor = uninterrupted(
            [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640); });
        if (descriptor < 0) {
            return failed();
        }
        return descriptor;
    }

    IoResult<int> open_to_read(const std::string& path) override { return open_regular(path, O_RDONLY); }

    IoResult<int> open_to_repair(const std::string& path) override { return open_regular(path, O_RDWR); }

    IoResult<bool> lock(int descriptor) override {
        if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0) {
            return true;
        }
        if (errno == EWOULDBLOCK) {
            return false;
        }
        return failed();
    }

    IoResult<std::size_t> write(int descriptor, std::string_view text) override {
        const ssize_t count = uninterrupted([&] { return ::write(descriptor, text.data(), text.size()); });
        if (count < 0) {
            return failed();
        }
        if (count == 0 && !text.empty()) {
            return std::unexpected(EIO);
        }
        return static_cast<std::size_t>(count);
    }

    IoResult<std::size_t> read(int descriptor, char* out, std::size_t size, std::uint64_t offset) override {
        const ssize_t count = uninterrupted([&] { return ::pread(descriptor, out, size, static_cast<off_t>(offset)); });
        if (count < 0) {
            return failed();
        }
        return static_cast<std::size_t>(count);
    }

    IoResult<std::uint64_t> size(int descriptor) override {
        struct stat found{};
        if (::fstat(descriptor, &found) != 0) {
            return failed();
        }
        return static_cast<std::uint64_t>(found.st_size);
    }

    IoResult<void> sync(int descriptor) override {
        if (auto synced = done_or_failed(uninterrupted([&] { return ::fdatasync(descriptor); })); !synced) {
            return synced;
        }
        // Durable in a file that has no name any more is lost: somebody has removed it under its writer.
        struct stat about{};
        if (::fstat(descriptor, &about) == 0 && about.st_nlink == 0) {
            return std::unexpected(ENOENT);
        }
        return {};
    }

    IoResult<void> truncate(int descriptor, std::uint64_t size) override {
        return done_or_failed(uninterrupted([&] { return ::ftruncate(descriptor, static_cast<off_t>(size)); }));
    }

    void close(int descriptor) override { ::close(descriptor); }

    IoResult<void> remove(const std::string& path) override { return done_or_failed(::unlink(path.c_str())); }

    IoResult<std::vector<std::string>> list(const std::string& directory) override {
        struct Closer {
            void operator()(DIR* stream) const { ::closedir(stream); }
        };

        const std::unique_ptr<DIR, Closer> stream{::opendir(directory.c_str())};
        if (stream == nullptr) {
            return failed();
        }
        std::vector<std::string> names;
        errno = 0;
        while (const dirent* entry = ::readdir(stream.get())) {
            const std::string_view name{entry->d_name};
            if (name != "." && name != "..") {
                names.emplace_back(name);
            }
            errno = 0;
        }
        if (errno != 0) {
            return failed();
        }
        return names;
    }

    IoResult<void> sync_directory(const std::string& directory) override {
        const int descriptor =
            uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
        if (descriptor < 0) {
            return failed();
        }
        auto synced = done_or_failed(uninterrupted([&] { return ::fsync(descriptor); }));
        ::close(descriptor);
        return synced;
    }

    IoResult<void> make_directory(const std::string& directory) override {
        return done_or_failed(::mkdir(directory.c_str(), 0750));
    }

    IoResult<void> check_directory(const std::string& directory) override {
        struct stat found{};
        if (::stat(directory.c_str(), &found) != 0) {
            return failed();
        }
        if (!S_ISDIR(found.st_mode)) {
            return std::unexpected(ENOTDIR);
        }
        return done_or_failed(::access(directory.c_str(), R_OK | W_OK | X_OK));
    }
};

}  // namespace

Files& system_files() {
    static SystemFiles files;
    return files;
}

std::string error_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace longhold::sink
