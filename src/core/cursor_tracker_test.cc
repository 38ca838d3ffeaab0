// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/core/cursor_tracker.h>
#include <longhold/core/sequence_number.h>

#include <ostream>
#include <string>
#include <vector>

namespace longhold::core {

void PrintTo(const Cursor& cursor, std::ostream* out) {
    *out << cursor.sequence_id << '/' << cursor.epoch.value << '/' << cursor.ordinal << '/' << cursor.stream << '/'
         << cursor.value;
}

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(Duration since_start) {
    return Instant{since_start};
}

Cursor cursor_of(std::uint64_t ordinal, std::uint32_t stream, std::string value) {
    return {.sequence_id = 7, .epoch = Epoch{3}, .ordinal = ordinal, .stream = stream, .value = std::move(value)};
}

const Cursor former{.sequence_id = 6, .epoch = Epoch{2}, .ordinal = 900, .stream = 4, .value = "900"};

TEST(SequenceNumber, IsOnlyWhatANumberWouldBeWrittenAs) {
    EXPECT_EQ(sequence_number("0"), 0U);
    EXPECT_EQ(sequence_number("42"), 42U);
    EXPECT_EQ(sequence_number("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(sequence_number("10000000000000000000"), 10'000'000'000'000'000'000ULL);
    EXPECT_EQ(sequence_number("9999999999999999999"), 9'999'999'999'999'999'999ULL);
    for (const auto* opaque :
         {"", "00", "042", "-1", "+1", "1.0", "1e3", " 1", "18446744073709551616", "19999999999999999999",
          "20000000000000000000", "99999999999999999999", "1/2", "1:2", "\xb1", "184467440737095516150", "abc"}) {
        EXPECT_EQ(sequence_number(opaque), std::nullopt) << opaque;
    }
}

TEST(CursorTracker, IsTheResumePointUntilSomethingIsAcked) {
    EXPECT_EQ(CursorTracker(7, Epoch{3}, std::nullopt).cursor(), std::nullopt);
    CursorTracker tracker{7, Epoch{3}, former};
    tracker.sent(1, 4, "901", at(seconds{1}));
    EXPECT_EQ(tracker.cursor(), former);
}

TEST(CursorTracker, KeepsTheResumePointsValueWhileItsStreamGoesOn) {
    CursorTracker tracker{7, Epoch{3}, former};
    tracker.sent(1, 4, "", at(seconds{1}));
    tracker.acked(1, 1);
    EXPECT_EQ(tracker.cursor(), cursor_of(1, 4, "900"));
}

TEST(CursorTracker, HasNoValueInANewStreamUntilOneIsAckedThere) {
    CursorTracker tracker{7, Epoch{3}, former};
    tracker.sent(1, 4, "901", at(seconds{1}));
    tracker.sent(2, 5, "", at(seconds{1}));
    tracker.sent(3, 5, "1", at(seconds{1}));
    tracker.acked(1, 2);
    EXPECT_EQ(tracker.cursor(), cursor_of(2, 5, ""));
    tracker.acked(3, 3);
    EXPECT_EQ(tracker.cursor(), cursor_of(3, 5, "1"));
}

TEST(CursorTracker, StopsAtTheFirstRecordThatIsNotAcked) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    for (std::uint64_t i = 1; i <= 6; ++i) {
        tracker.sent(i, 1, std::to_string(100 + i), at(seconds{1}));
    }
    tracker.acked(3, 4);
    tracker.acked(6, 6);
    EXPECT_EQ(tracker.cursor(), std::nullopt);
    tracker.acked(1, 1);
    EXPECT_EQ(tracker.cursor(), cursor_of(1, 1, "101"));
    tracker.acked(2, 2);
    EXPECT_EQ(tracker.cursor(), cursor_of(4, 1, "104"));
    EXPECT_EQ(tracker.pending(), 2U);
    tracker.acked(1, 5);
    EXPECT_EQ(tracker.cursor(), cursor_of(6, 1, "106"));
    EXPECT_EQ(tracker.oldest_pending(), std::nullopt);
}

TEST(CursorTracker, KeepsOpaqueValuesAsTheyAre) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    tracker.sent(1, 1, "007", at(seconds{1}));
    tracker.sent(2, 1, "a-b", at(seconds{1}));
    tracker.sent(3, 1, "a-b", at(seconds{1}));
    tracker.sent(4, 1, "18446744073709551616", at(seconds{1}));
    tracker.acked(1, 1);
    EXPECT_EQ(tracker.cursor()->value, "007");
    tracker.acked(2, 2);
    EXPECT_EQ(tracker.cursor()->value, "a-b");
    tracker.acked(3, 4);
    EXPECT_EQ(tracker.cursor()->value, "18446744073709551616");
}

TEST(CursorTracker, TakesAFewBytesForMillionsInFlight) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
        tracker.sent(i, 1, std::to_string(i), at(milliseconds{i / 1000}));
    }
    EXPECT_LE(tracker.memory(), 1024U);
    tracker.acked(1, 999'999);
    EXPECT_EQ(tracker.cursor()->value, "999999");
}

TEST(CursorTracker, TakesAtMostOneSpanForTwoNumbersOutOfStep) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    Random random{1};
    for (std::uint64_t i = 1; i <= 65'536; ++i) {
        tracker.sent(i, 1, std::to_string(random.next()), at(seconds{1}));
    }
    EXPECT_LE(tracker.memory(), 32'768U * 32 + 256);
}

TEST(CursorTracker, DoesNotGrowInSteadyStateAndGivesABacklogBack) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    std::uint64_t ordinal = 0;
    const auto run = [&](std::uint64_t batch) {
        for (std::uint64_t i = 0; i < batch; ++i) {
            ++ordinal;
            tracker.sent(ordinal, 1, "opaque-" + std::to_string(ordinal), at(milliseconds{ordinal}));
        }
        tracker.acked(ordinal - batch + 1, ordinal);
    };
    run(32);
    const auto steady = tracker.memory();
    for (int i = 0; i < 1000; ++i) {
        run(32);
        ASSERT_EQ(tracker.memory(), steady);
    }
    run(100'000);
    EXPECT_GT(tracker.memory(), 1'000'000U);
    for (int i = 0; i < 200; ++i) {
        run(32);
    }
    EXPECT_LE(tracker.memory(), 4 * steady);
}

TEST(CursorTracker, TellsTheAgeOfTheOldestAgainSoonAfterABacklog) {
    CursorTracker tracker{7, Epoch{3}, std::nullopt};
    std::uint64_t ordinal = 0;
    for (; ordinal < 36'000; ++ordinal) {  // the sink is stuck for an hour
        tracker.sent(ordinal + 1, 1, "", at(milliseconds{100} * ordinal));
    }
    EXPECT_EQ(tracker.oldest_pending(), at(milliseconds{0}));
    for (int i = 0; i < 3; ++i) {  // it heals, always one record behind
        tracker.sent(++ordinal, 1, "", at(milliseconds{100} * ordinal));
        tracker.acked(1, ordinal - 1);
    }
    EXPECT_GE(*tracker.oldest_pending(), at(milliseconds{100} * (ordinal - 2)));
}

// What the tracker promises, said in the plainest way.
class Model {
public:
    void sent(std::uint32_t stream, std::string seq, Instant received_at) {
        records_.push_back({stream, std::move(seq), received_at, false});
    }

    void acked(std::uint64_t first, std::uint64_t last) {
        for (auto i = first; i <= last; ++i) {
            records_[i - 1].acked = true;
        }
    }

    [[nodiscard]] std::uint64_t ordinal() const {
        std::uint64_t ordinal = 0;
        while (ordinal < records_.size() && records_[ordinal].acked) {
            ++ordinal;
        }
        return ordinal;
    }

    [[nodiscard]] std::optional<Cursor> cursor() const {
        if (ordinal() == 0) {
            return former;
        }
        std::uint32_t stream = former.stream;
        std::string value = former.value;
        for (std::uint64_t i = 0; i < ordinal(); ++i) {
            if (records_[i].stream != stream) {
                stream = records_[i].stream;
                value.clear();
            }
            if (!records_[i].seq.empty()) {
                value = records_[i].seq;
            }
        }
        return cursor_of(ordinal(), stream, value);
    }

    [[nodiscard]] std::optional<Instant> oldest() const {
        return ordinal() < records_.size() ? std::optional{records_[ordinal()].received_at} : std::nullopt;
    }

    [[nodiscard]] std::uint64_t size() const { return records_.size(); }

private:
    struct Record {
        std::uint32_t stream;
        std::string seq;
        Instant received_at;
        bool acked;
    };

    std::vector<Record> records_;
};

std::string random_seq(Random& random, std::uint64_t& number) {
    switch (random.below(8)) {
        case 0:
            return "";
        case 1:
            return "t" + std::to_string(random.below(3));
        case 2:
            number = random.below(100);
            return std::to_string(number);
        default:
            return std::to_string(++number);
    }
}

void expect_same(const CursorTracker& tracker, const Model& model, Duration age_max) {
    ASSERT_EQ(tracker.cursor(), model.cursor());
    ASSERT_EQ(tracker.pending(), model.size() - model.ordinal());
    ASSERT_EQ(tracker.oldest_pending().has_value(), model.oldest().has_value());
    if (model.oldest()) {
        ASSERT_LE(*tracker.oldest_pending(), *model.oldest());
        ASSERT_LE(*model.oldest() - *tracker.oldest_pending(), milliseconds{10} + age_max / 4);
    }
}

TEST(CursorTracker, AgreesWithTheModelInAnyOrderOfAcks) {
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        SCOPED_TRACE(seed);
        Random random{seed};
        CursorTracker tracker{7, Epoch{3}, former};
        Model model;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> in_flight;
        auto returned = in_flight;
        std::uint32_t stream = former.stream;
        std::uint64_t number = 0;
        Instant now{};
        for (int step = 0; step < 120; ++step) {
            if (in_flight.size() < 12 && random.below(2) == 0) {
                const auto first = model.size() + 1;
                for (auto left = 1 + random.below(6); left > 0; --left) {
                    stream += random.below(20) == 0 ? 1 : 0;
                    now += milliseconds{random.below(random.below(30) == 0 ? 60'000 : 20)};
                    const auto seq = random_seq(random, number);
                    tracker.sent(model.size() + 1, stream, seq, now);
                    model.sent(stream, seq, now);
                }
                in_flight.emplace_back(first, model.size());
            } else if (!in_flight.empty()) {
                const auto index = static_cast<std::ptrdiff_t>(random.below(in_flight.size()));
                const auto [first, last] = in_flight[static_cast<std::size_t>(index)];
                in_flight.erase(in_flight.begin() + index);
                tracker.acked(first, last);
                model.acked(first, last);
                returned.emplace_back(first, last);
                const auto& again = returned[random.below(returned.size())];
                tracker.acked(again.first, again.second);
            }
            ASSERT_NO_FATAL_FAILURE(expect_same(tracker, model, now - Instant{}));
        }
    }
}

}  // namespace
}  // namespace longhold::core
