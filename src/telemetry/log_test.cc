// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/telemetry/log.h>
#include <longhold/telemetry/valid_utf8.h>
#include <unistd.h>

#include <array>

namespace longhold::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class FixedWallClock final : public runtime::Clock {
public:
    [[nodiscard]] Instant now() const override { return real_.now(); }

    [[nodiscard]] WallTime wall_now() const override { return *parse_rfc3339("2026-11-30T08:00:00.123456Z"); }

private:
    runtime::SystemClock real_;
};

// A pipe whose reading end the test holds.
struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }

    ~Pipe() {
        close_reader();
        ::close(ends[1]);
    }

    void close_reader() {
        if (ends[0] >= 0) {
            ::close(ends[0]);
            ends[0] = -1;
        }
    }

    // What has been written so far.
    [[nodiscard]] std::string read() const {
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::string text;
        std::array<char, 4096> part{};
        ssize_t got = 0;
        while ((got = ::read(ends[0], part.data(), part.size())) > 0) {
            text.append(part.data(), static_cast<std::size_t>(got));
        }
        return text;
    }

    std::array<int, 2> ends{-1, -1};
};

class LogTest : public testing::Test {
protected:
    FixedWallClock clock;
    Pipe pipe;
};

TEST_F(LogTest, WritesTextForPeople) {
    Log log{Level::info, LogFormat::text, clock, pipe.ends[1]};
    log.info("connection opened", {{"connection", ConnectionId{"btc-usd"}}, {"epoch", Epoch{3}}, {"took", 1250ms}});
    log.warning("store\nslow", {{"detail", "a \"b\"\n"}, {"empty", ""}});
    log.debug("not wanted");
    log.flush();
    EXPECT_EQ(pipe.read(),
              "2026-11-30T08:00:00.123456Z info  connection opened connection=btc-usd epoch=3 took=1.25s\n"
              "2026-11-30T08:00:00.123456Z warn  store slow detail=\"a \\\"b\\\"\\n\" empty=\"\"\n");
}

TEST_F(LogTest, WritesOneJsonObjectPerLine) {
    Log log{Level::debug, LogFormat::json, clock, pipe.ends[1]};
    log.error("sink failed", {{"records", 7}, {"detail", std::string{"a\n\xff"}}});
    log.flush();
    EXPECT_EQ(pipe.read(),
              "{\"time\":\"2026-11-30T08:00:00.123456Z\",\"level\":\"error\",\"event\":\"sink failed\",\"records\":7,"
              "\"detail\":\"a\\n\xef\xbf\xbd\"}\n");
}

TEST_F(LogTest, ItsLevelCanBeChangedWhileItRuns) {
    Log log{Level::error, LogFormat::text, clock, pipe.ends[1]};
    EXPECT_FALSE(log.wants(Level::warning));
    log.set_level(Level::debug);
    EXPECT_TRUE(log.wants(Level::debug));
    log.debug("seen");
    log.flush();
    EXPECT_THAT(pipe.read(), HasSubstr("debug seen"));
}

TEST_F(LogTest, CutsHugeValues) {
    Log log{Level::info, LogFormat::text, clock, pipe.ends[1]};
    log.info("large", {{"body", std::string(100'000, 'x')}});
    log.flush();
    const std::string line = pipe.read();
    EXPECT_LT(line.size(), 3000U);
    EXPECT_THAT(line, HasSubstr("xxx...\n"));
}

TEST_F(LogTest, AReaderThatDoesNotReadBlocksNobodyAndIsToldWhatItMissed) {
    const runtime::SystemClock real;
    Log log{Level::info, LogFormat::text, clock, pipe.ends[1]};
    const Instant before = real.now();
    const std::string filler(1000, 'x');
    for (int i = 0; i < 3000; ++i) {  // three times what pipe and queue hold
        log.info("line", {{"filler", filler}});
    }
    EXPECT_LT(real.now() - before, 5s);
    EXPECT_GT(log.dropped(), 1000U);
    std::string text;
    const Instant patience = real.now() + 20s;
    while (text.find("log lines dropped lines=") == std::string::npos && real.now() < patience) {
        text += pipe.read();
        log.info("later");
    }
    EXPECT_THAT(text, HasSubstr("log lines dropped lines="));
}

TEST_F(LogTest, EndsInBoundedTimeWhenNobodyReads) {
    const runtime::SystemClock real;
    const Instant before = real.now();
    {
        Log log{Level::info, LogFormat::text, clock, pipe.ends[1]};
        for (int i = 0; i < 200; ++i) {
            log.info("line", {{"filler", std::string(1000, 'x')}});
        }
    }
    EXPECT_LT(real.now() - before, 10s);
}

TEST_F(LogTest, AClosedReaderIsSurvived) {
    pipe.close_reader();
    Log log{Level::info, LogFormat::text, clock, pipe.ends[1]};
    log.info("into the void");
    log.flush();
    EXPECT_EQ(log.dropped(), 1U);
}

TEST(Field, WritesDurationsAsExactSeconds) {
    for (const auto& [duration, want] :
         {std::pair{Duration{0}, "0s"}, std::pair{Duration{1}, "0.000000001s"}, std::pair{Duration{6s}, "6s"},
          std::pair{Duration{-1500ms}, "-1.5s"}, std::pair{Duration{100ms}, "0.1s"},
          std::pair{Duration::min(), "-9223372036.854775808s"}}) {
        EXPECT_EQ(Field("took", duration).value, want);
    }
}

TEST(SilentLog, WantsNothing) {
    const auto log = Log::silent();
    EXPECT_FALSE(log->wants(Level::error));
    log->error("nothing");
    log->flush();
}

TEST(ToValidUtf8, ReplacesOnlyWhatIsBroken) {
    EXPECT_EQ(to_valid_utf8("aé€😀"), "aé€😀");
    EXPECT_EQ(to_valid_utf8("a\xc0\x80"), "a\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(to_valid_utf8("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(to_valid_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace longhold::telemetry
