// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace longhold::sink::test {
namespace {

constexpr auto patience = std::chrono::seconds{10};

// Takes one of what is left to fail.
bool take_one(std::atomic<int>& left) {
    int seen = left.load();
    while (seen > 0 && !left.compare_exchange_weak(seen, seen - 1)) {
    }
    return seen > 0;
}

}  // namespace

TempDirectory::TempDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "longhold-sink-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
}

TempDirectory::~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TempDirectory::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{path_}) {
        names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

std::string TempDirectory::read(const std::string& name) const {
    std::ifstream file{path_ + "/" + name, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

std::string TempDirectory::read_all() const {
    std::string text;
    for (const std::string& name : names()) {
        text += read(name);
    }
    return text;
}

void TempDirectory::write(const std::string& name, std::string_view text) const {
    std::ofstream file{path_ + "/" + name, std::ios::binary};
    file << text;
}

bool eventually(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

void Collector::returned(std::unique_ptr<RecordBatch> batch, Delivery delivery) noexcept {
    const std::lock_guard lock{mutex_};
    returned_.push_back({std::move(batch), delivery});
    changed_.notify_all();
}

bool Collector::wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return returned_.size() >= count; });
}

std::size_t Collector::count() const {
    const std::lock_guard lock{mutex_};
    return returned_.size();
}

std::vector<Delivery> Collector::deliveries() const {
    const std::lock_guard lock{mutex_};
    std::vector<Delivery> deliveries;
    for (const Returned& returned : returned_) {
        deliveries.push_back(returned.delivery);
    }
    return deliveries;
}

std::vector<std::uint64_t> Collector::durable_ordinals() const {
    const std::lock_guard lock{mutex_};
    std::vector<std::uint64_t> ordinals;
    for (const Returned& returned : returned_) {
        if (returned.delivery == Delivery::durable) {
            for (const RecordHeader& header : returned.batch->records()) {
                ordinals.push_back(header.ordinal);
            }
        }
    }
    return ordinals;
}

Owner::Owner(const std::string& session, const runtime::Clock& clock)
    : session_(session), right_(std::make_shared<runtime::ActingRight>()) {
    right_->extend_until(clock.now() + std::chrono::hours{1});
}

Owner::Connection& Owner::connection_of(const std::string& connection) {
    if (!connections_.contains(connection)) {
        claim(connection, 1);
    }
    return connections_[connection];
}

void Owner::claim(const std::string& connection, std::uint64_t epoch) {
    Connection& claimed = connections_[connection];
    claimed.origins.push_back(
        std::make_unique<Origin>(Origin{.connection = ConnectionId{connection}, .epoch = Epoch{epoch}}));
    claimed.ordinal = 0;
}

void Owner::next_stream(const std::string& connection) {
    ++connection_of(connection).stream;
}

std::unique_ptr<RecordBatch> Owner::empty_batch() const {
    auto batch = std::make_unique<RecordBatch>();
    batch->right = right_;
    batch->session = session_;
    return batch;
}

void Owner::append(RecordBatch& batch, Connection& connection, RecordKind kind, std::string_view seq,
                   std::string_view body) const {
    RecordHeader header;
    header.origin = connection.origins.back().get();
    header.ordinal = ++connection.ordinal;
    header.received_at = WallTime{std::chrono::microseconds{1'796'000'000'123'456}};
    header.stream = connection.stream;
    header.kind = kind;
    batch.append(header, seq, body);
}

std::unique_ptr<RecordBatch> Owner::data(const std::string& connection, std::uint64_t seq_from, std::size_t count,
                                         std::string_view body) {
    auto batch = empty_batch();
    Connection& source = connection_of(connection);
    if (source.ordinal == 0) {
        append(*batch, source, RecordKind::state, "", R"("reason":"claimed","resume":null)");
    }
    for (std::size_t i = 0; i < count; ++i) {
        append(*batch, source, RecordKind::data, std::to_string(seq_from + i), body);
    }
    return batch;
}

std::unique_ptr<RecordBatch> Owner::one(const std::string& connection, RecordKind kind, std::string_view seq,
                                        std::string_view body) {
    auto batch = empty_batch();
    append(*batch, connection_of(connection), kind, seq, body);
    return batch;
}

void FaultyFiles::let_go() {
    held_ = false;
    held_.notify_all();
}

IoResult<int> FaultyFiles::create(const std::string& path) {
    if (const int error = create_error) {
        return std::unexpected(error);
    }
    return real_.create(path);
}

IoResult<int> FaultyFiles::open_to_read(const std::string& path) {
    return real_.open_to_read(path);
}

IoResult<int> FaultyFiles::open_to_repair(const std::string& path) {
    return real_.open_to_repair(path);
}

IoResult<bool> FaultyFiles::lock(int descriptor) {
    return real_.lock(descriptor);
}

IoResult<std::size_t> FaultyFiles::write(int descriptor, std::string_view text) {
    ++writes;
    if (before_write) {
        before_write();
    }
    if (held_) {
        holding_ = true;
        held_.wait(true);
        holding_ = false;
    }
    if (const int error = write_error) {
        return std::unexpected(error);
    }
    const std::int64_t left = room;
    if (left <= 0) {
        return std::unexpected(ENOSPC);
    }
    const std::size_t size = std::min({text.size(), static_cast<std::size_t>(left), write_bytes_max.load()});
    auto count = real_.write(descriptor, text.substr(0, size));
    if (count) {
        room -= static_cast<std::int64_t>(*count);
    }
    return count;
}

IoResult<std::size_t> FaultyFiles::read(int descriptor, char* out, std::size_t size, std::uint64_t offset) {
    return real_.read(descriptor, out, size, offset);
}

IoResult<std::uint64_t> FaultyFiles::size(int descriptor) {
    return real_.size(descriptor);
}

IoResult<void> FaultyFiles::sync(int descriptor) {
    if (take_one(failing_syncs)) {
        return std::unexpected(EIO);
    }
    auto synced = real_.sync(descriptor);
    ++syncs;
    return synced;
}

IoResult<void> FaultyFiles::truncate(int descriptor, std::uint64_t size) {
    ++truncates;
    if (const int error = truncate_error) {
        return std::unexpected(error);
    }
    return real_.truncate(descriptor, size);
}

void FaultyFiles::close(int descriptor) {
    real_.close(descriptor);
}

IoResult<void> FaultyFiles::remove(const std::string& path) {
    return real_.remove(path);
}

IoResult<std::vector<std::string>> FaultyFiles::list(const std::string& directory) {
    return real_.list(directory);
}

IoResult<void> FaultyFiles::sync_directory(const std::string& directory) {
    if (take_one(failing_directory_syncs)) {
        return std::unexpected(EIO);
    }
    return real_.sync_directory(directory);
}

IoResult<void> FaultyFiles::make_directory(const std::string& directory) {
    return real_.make_directory(directory);
}

IoResult<void> FaultyFiles::check_directory(const std::string& directory) {
    return real_.check_directory(directory);
}

}  // namespace longhold::sink::test
