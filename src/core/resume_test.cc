// SPDX-License-Identifier: Apache-2.0
// Sequencer and CursorTracker together, against an upstream that replays and breaks, over many owners.
#include <gtest/gtest.h>
#include <longhold/base/random.h>
#include <longhold/core/cursor_tracker.h>
#include <longhold/core/sequencer.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace longhold::core {
namespace {

// Numbers messages from 1 and can replay all of them, until it begins to count anew. A cursor beyond
// what it has means "from now on".
class Upstream {
public:
    explicit Upstream(Resume resume) : resume_(resume) {}

    void open(std::optional<std::uint64_t> asked) {
        next_ = sent_ + 1;
        if (asked && *asked <= sent_) {
            next_ = resume_ == Resume::exclusive ? *asked + 1 : *asked;
        }
    }

    std::uint64_t next_message() {
        sent_ = std::max(sent_, next_);
        return next_++;
    }

    void go_on_alone(std::uint64_t messages) { sent_ += messages; }

    // So that its next number lies below `asked`: otherwise nobody could tell.
    void restart(std::uint64_t asked, Random& random) {
        ++numbering_;
        sent_ = random.below(asked - 1);
    }

    [[nodiscard]] std::uint64_t numbering() const { return numbering_; }

private:
    Resume resume_;
    std::uint64_t numbering_ = 1;
    std::uint64_t sent_ = 5;
    std::uint64_t next_ = 1;
};

struct Written {
    std::uint32_t stream = 0;
    std::uint64_t numbering = 0;
    std::uint64_t number = 0;  // 0 for a note
    Note note{};
};

class World {
public:
    World(Resume resume, std::uint64_t seed)
        : rule_{.has_sequence = true, .first = 1, .resume = resume}, random_(seed), upstream_(resume) {}

    // One owner from its claim to its death; what is not acked by then is lost with it.
    void live_through_an_owner(bool all_acked) {
        Sequencer sequencer{rule_, {.resume_point = durable_, .held_before = epoch_.value > 0}};
        epoch_ = epoch_.next();
        CursorTracker tracker{1, epoch_, durable_};
        std::vector<Written> written;
        write(sequencer.begin(), written, tracker);
        for (int socket = 0; socket < 4; ++socket) {
            use_a_socket(sequencer, written, tracker);
        }
        if (all_acked && tracker.pending() > 0) {
            tracker.acked(tracker.ordinal_acked() + 1, tracker.ordinal_sent());
        }
        durable_ = tracker.cursor();
        written.resize(tracker.ordinal_acked());
        records_.insert(records_.end(), written.begin(), written.end());
    }

    void expect_no_key_for_two_messages() const {
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> keys;
        for (const auto& record : records_) {
            if (record.number > 0) {
                const auto [at, added] = keys.try_emplace({record.stream, record.number}, record.numbering);
                ASSERT_EQ(at->second, record.numbering) << record.stream << ":" << record.number;
            }
        }
    }

    // Each message that was ever received, or that came before such a one in its numbering, is there
    // or lies in a gap.
    void expect_all_there_or_in_a_gap() const {
        std::map<std::uint32_t, std::uint64_t> numbering_of;
        std::map<std::uint32_t, std::uint64_t> reached;
        for (const auto& record : records_) {
            if (record.number > 0) {
                numbering_of.emplace(record.stream, record.numbering);
                reached[record.stream] = std::max(reached[record.stream], record.number);
            }
        }
        for (const auto& [stream, numbering] : numbering_of) {
            const auto begin = numbering == 1 ? received_.at(1).first : 1;
            const bool ended = stream != numbering_of.rbegin()->first;  // else more may come
            const auto end = ended ? received_.at(numbering).second : reached[stream];
            for (auto number = begin; number <= end; ++number) {
                ASSERT_TRUE(accounted(stream, number)) << "stream " << stream << " number " << number;
            }
        }
    }

    [[nodiscard]] std::size_t restarts() const { return upstream_.numbering() - 1; }

private:
    void use_a_socket(Sequencer& sequencer, std::vector<Written>& written, CursorTracker& tracker) {
        const auto asked = sequencer.resume_value();
        const auto number = asked ? std::optional{std::stoull(*asked)} : std::nullopt;
        upstream_.go_on_alone(random_.below(4));
        if (number && *number > 2 && random_.below(4) == 0) {
            upstream_.restart(*number, random_);
        }
        upstream_.open(number);
        write(sequencer.opened(asked ? std::optional<std::string_view>{*asked} : std::nullopt), written, tracker);
        for (auto left = random_.below(9); left > 0; --left) {
            const auto message = upstream_.next_message();
            auto& [lowest, highest] = received_.try_emplace(upstream_.numbering(), message, message).first->second;
            lowest = std::min(lowest, message);
            highest = std::max(highest, message);
            const auto decision = sequencer.on_message(std::to_string(message));
            write(decision.notes, written, tracker);
            if (decision.action == Action::reconnect) {
                return;
            }
            if (decision.action == Action::deliver) {
                tracker.sent(tracker.ordinal_sent() + 1, decision.stream, std::to_string(message), Instant{});
                written.push_back({.stream = decision.stream, .numbering = upstream_.numbering(), .number = message});
            }
            if (tracker.pending() > 0 && random_.below(3) == 0) {
                const auto first = tracker.ordinal_acked() + 1;
                tracker.acked(first, first + random_.below(tracker.pending()));
            }
        }
    }

    static void write(const std::vector<Note>& notes, std::vector<Written>& written, CursorTracker& tracker) {
        for (const auto& note : notes) {
            tracker.sent(tracker.ordinal_sent() + 1, note.stream, "", Instant{});
            written.push_back({.stream = note.stream, .note = note});
        }
    }

    static std::uint64_t end_of(const Note& note, std::string_view name, std::uint64_t unknown) {
        const auto at = note.members.find(name);
        return at == std::string::npos ? unknown : std::stoull(note.members.substr(at + name.size()));
    }

    [[nodiscard]] bool accounted(std::uint32_t stream, std::uint64_t number) const {
        return std::ranges::any_of(records_, [&](const Written& record) {
            if (record.stream != stream || record.number > 0 || record.note.kind != NoteKind::gap) {
                return record.stream == stream && record.number == number;
            }
            return end_of(record.note, R"("from":")", 0) <= number &&
                   number <= end_of(record.note, R"("to":")", UINT64_MAX);
        });
    }

    SequenceRule rule_;
    Random random_;
    Upstream upstream_;
    Epoch epoch_{0};
    std::optional<Cursor> durable_;
    std::vector<Written> records_;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> received_;  // lowest, highest per numbering
};

TEST(Resume, LosesNothingUnsaidAndUsesNoKeyTwiceWhateverBreaks) {
    std::size_t restarts = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE(seed);
        World world{seed % 2 == 0 ? Resume::exclusive : Resume::inclusive, seed};
        for (int owner = 1; owner <= 6; ++owner) {
            world.live_through_an_owner(owner == 6);
        }
        ASSERT_NO_FATAL_FAILURE(world.expect_no_key_for_two_messages());
        ASSERT_NO_FATAL_FAILURE(world.expect_all_there_or_in_a_gap());
        restarts += world.restarts();
    }
    EXPECT_GT(restarts, 600U);
}

}  // namespace
}  // namespace longhold::core
