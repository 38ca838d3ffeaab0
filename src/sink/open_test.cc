// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/runtime/clock.h>
#include <longhold/sink/open.h>
#include <longhold/telemetry/log.h>
#include <sys/stat.h>

#include <cerrno>

#include "test_support.h"

namespace longhold::sink {
namespace {

using testing::HasSubstr;

class OpenSink : public testing::Test {
protected:
    Result<std::unique_ptr<Sink>> open(const std::string& url) {
        SinkOptions options;
        options.name = "main";
        options.url = url;
        return open_sink(options, clock, *log);
    }

    // Requires an error, and returns its text.
    std::string refused(const std::string& url) {
        auto sink = open(url);
        if (sink) {
            ADD_FAILURE() << url << " was opened";
            return {};
        }
        EXPECT_EQ(sink.error().code, Errc::invalid);
        EXPECT_THAT(sink.error().detail, HasSubstr("sink 'main'"));
        return sink.error().detail;
    }

    test::TempDirectory directory;
    runtime::SystemClock clock;
    std::unique_ptr<telemetry::Log> log = telemetry::Log::silent();
};

TEST_F(OpenSink, CreatesADirectoryWhoseParentExists) {
    const std::string path = directory.path() + "/messages";
    auto sink = open("ndjson:" + path + "/");
    ASSERT_TRUE(sink.has_value()) << sink.error().detail;
    EXPECT_TRUE(std::filesystem::is_directory(path));
    EXPECT_EQ((*sink)->health().name, "main");
    EXPECT_TRUE((*sink)->close(clock.now()));
}

TEST_F(OpenSink, NamesWhatIsMissingAboveTheDirectory) {
    const std::string text = refused("ndjson:" + directory.path() + "/no/such/");
    EXPECT_THAT(text, HasSubstr("'" + directory.path() + "/no/such' does not exist"));
    EXPECT_THAT(text, HasSubstr("create '" + directory.path() + "/no'"));
}

TEST_F(OpenSink, RefusesAFileInTheDirectorysPlace) {
    directory.write("file", "");
    EXPECT_THAT(refused("ndjson:" + directory.path() + "/file/"), HasSubstr("is not a directory"));
}

// Says of every directory that it may not be written, as the kernel says to users other than root.
class LockedUp final : public Files {
public:
    IoResult<int> create(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<int> open_to_read(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<int> open_to_repair(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<bool> lock(int) override { return std::unexpected(EACCES); }

    IoResult<std::size_t> write(int, std::string_view) override { return std::unexpected(EACCES); }

    IoResult<std::size_t> read(int, char*, std::size_t, std::uint64_t) override { return std::unexpected(EACCES); }

    IoResult<std::uint64_t> size(int) override { return std::unexpected(EACCES); }

    IoResult<void> sync(int) override { return std::unexpected(EACCES); }

    IoResult<void> truncate(int, std::uint64_t) override { return std::unexpected(EACCES); }

    void close(int) override {}

    IoResult<void> remove(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<std::vector<std::string>> list(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<void> sync_directory(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<void> make_directory(const std::string&) override { return std::unexpected(EACCES); }

    IoResult<void> check_directory(const std::string&) override { return std::unexpected(EACCES); }
};

TEST_F(OpenSink, SaysWhatToDoAboutADirectoryThatCannotBeWritten) {
    LockedUp files;
    NdjsonOptions options{.directory = "/srv/messages", .name = "main"};
    auto sink = open_ndjson_sink(options, files, clock, *log);
    ASSERT_FALSE(sink.has_value());
    EXPECT_EQ(sink.error().code, Errc::invalid);
    EXPECT_EQ(sink.error().detail,
              "sink 'main': the directory '/srv/messages' cannot be written: Permission denied; let this user read, "
              "write and enter it, or name another directory");
}

TEST_F(OpenSink, AnUnknownSchemeIsRefusedWithThoseThatThereAre) {
    const std::string text = refused("kafkaa://user:secret@host/topic");
    EXPECT_THAT(text, HasSubstr("'kafkaa:'"));
    EXPECT_THAT(text, HasSubstr("schemes in this build: ndjson:"));
    EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
    EXPECT_THAT(sink_schemes(), testing::Contains("ndjson"));
}

TEST_F(OpenSink, AUrlThatNamesNoDirectoryIsRefusedWithAHint) {
    EXPECT_THAT(refused("messages/"), HasSubstr("write ndjson:messages/"));
    EXPECT_THAT(refused(""), HasSubstr("write ndjson:DIR/"));
    EXPECT_THAT(refused("ndjson:"), HasSubstr("names no directory"));
    EXPECT_THAT(refused("ndjson://messages/"), HasSubstr("write ndjson:messages/"));
}

TEST_F(OpenSink, RefusesOptionsThatCannotWork) {
    SinkOptions options;
    options.name = "main";
    options.url = "ndjson:" + directory.path();
    options.ndjson.rotate_bytes = 0;
    EXPECT_FALSE(open_sink(options, clock, *log).has_value());
    options.ndjson.rotate_bytes = 1;
    options.ndjson.fsync_every = Duration{-1};
    EXPECT_FALSE(open_sink(options, clock, *log).has_value());
}

}  // namespace
}  // namespace longhold::sink
