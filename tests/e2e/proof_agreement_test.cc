// SPDX-License-Identifier: Apache-2.0
// fleet::Proof and tests/e2e/check_proof compute the same figures from the same random runs, good ones and broken ones.
#include <gtest/gtest.h>
#include <longhold/base/json_text.h>
#include <longhold/base/random.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/fleet/proof.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

namespace longhold::fleet {
namespace {

constexpr std::int64_t start_us = 1'764'489'600'000'000;

// A run that makes some sense, and then mistakes in it. Small numbers, so that rare meetings are common.
class RandomRun {
public:
    explicit RandomRun(std::uint64_t seed) : random_(seed) {
        for (const std::string id : {"a", "b", "c \"quoted\" é"}) {
            add_connection(id);
        }
        add_harm(HarmKind::kill);
        add_harm(HarmKind::drain);
        add_harm(HarmKind::drain);
    }

    [[nodiscard]] ProofResult judge() const { return proof_.judge(oracle_, events_); }

    void write(const std::filesystem::path& folder) const {
        std::filesystem::create_directories(folder / "messages");
        for (const auto& [session, lines] : files_) {
            std::ofstream{folder / "messages" / (session + ".000001.ndjson")} << lines;
        }
        std::ofstream{folder / "proof.json"} << proof_json(judge(), 2);
        std::ofstream{folder / "events.json"} << events_json(events_);
        std::ofstream{folder / "oracle.json"} << oracle_json();
        std::ofstream{folder / "store.json"} << store_json();
    }

private:
    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

    bool one_in(std::uint64_t count) { return below(count) == 0; }

    void add_connection(const std::string& id) {
        OracleId& witness = oracle_[id];
        ids_.insert(id);
        const std::uint64_t streams = 1 + below(3);
        for (std::uint64_t i = 0; i < streams; ++i) {
            witness.heads.push_back(10 + below(20));
        }
        events_.stop.heads[id] = StreamHead{static_cast<std::uint32_t>(streams), witness.heads.back() - below(5)};
        std::int64_t now = start_us + static_cast<std::int64_t>(below(1000));
        RecordPlace resume;
        std::uint32_t stream = 1;
        std::uint64_t seq = below(4);
        const std::uint64_t epochs = 1 + below(4);
        for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
            const std::string session = "s-" + std::to_string(one_in(12) ? below(6) : epoch);
            OracleSocket socket{.opened_at_us = now, .closed_at_us = {}, .firsts = {{stream, seq + 1}}};
            record(ProofRecord{.connection = id,
                               .session = session,
                               .place = {epoch, 1},
                               .stream = stream,
                               .seq = {},
                               .received_at_us = now,
                               .resume = resume});
            const std::uint64_t count = epoch == epochs ? 60 : below(20);
            RecordPlace place{epoch, 1};
            for (std::uint64_t i = 0; i < count && next(witness, stream, seq, socket); ++i) {
                now += static_cast<std::int64_t>(below(3000));
                ++place.ordinal;
                message(id, session, place, stream, seq, now);
            }
            resume = RecordPlace{epoch, place.ordinal - std::min<std::uint64_t>(below(3), place.ordinal)};
            now += static_cast<std::int64_t>(below(5000)) - (one_in(10) ? 4000 : 0);
            if (!one_in(15)) {
                socket.closed_at_us = now - static_cast<std::int64_t>(one_in(3) ? 0 : below(3));
            }
            witness.sockets.push_back(socket);
        }
        last_epochs_[id] = epochs;
        end_us_ = std::max(end_us_, now);
    }

    // Moves on to the next number, and the next stream at the end of one; false at the end of all.
    bool next(const OracleId& witness, std::uint32_t& stream, std::uint64_t& seq, OracleSocket& socket) {
        if (seq + 1 > witness.heads[stream - 1]) {
            if (stream == witness.heads.size()) {
                return false;
            }
            ++stream;
            seq = 0;
            socket.firsts.emplace_back(stream, 1);
        }
        seq += one_in(40) ? 2 : 1;
        return true;
    }

    void message(const std::string& id, const std::string& session, RecordPlace place, std::uint32_t stream,
                 std::uint64_t seq, std::int64_t at_us) {
        ProofRecord made{.connection = id,
                         .session = session,
                         .place = place,
                         .stream = stream,
                         .is_data = !one_in(50),
                         .seq = seq,
                         .received_at_us = at_us,
                         .resume = {}};
        if (one_in(60)) {
            made.seq.reset();
        }
        record(made);
        if (one_in(30)) {
            record(made);
        }
    }

    void record(const ProofRecord& record) {
        proof_.add(record);
        JsonWriter json;
        json.begin_object().key("connection").value(record.connection).key("epoch").value(record.place.epoch);
        json.key("ordinal").value(record.place.ordinal).key("stream").value(record.stream);
        if (record.seq) {
            json.key("seq").value(*record.seq);
        }
        const WallTime received{std::chrono::microseconds{record.received_at_us}};
        json.key("received_at").value(std::string_view{format_rfc3339(received)});
        json.key("kind").value(record.is_data ? "data" : record.resume ? "state" : "gap");
        if (record.resume) {
            json.key("resume");
            if (record.resume->epoch == 0) {
                json.null();
            } else {
                json.begin_object().key("epoch").value(record.resume->epoch);
                json.key("ordinal").value(record.resume->ordinal).end_object();
            }
        }
        files_[std::string{record.session}] += json.end_object().take() + '\n';
    }

    void add_harm(HarmKind kind) {
        const auto range = static_cast<std::uint64_t>(end_us_ - start_us) + 1;
        Harm harm{.at_us = start_us + static_cast<std::int64_t>(below(range)),
                  .kind = kind,
                  .worker = "w",
                  .session = "s",
                  .connections = {}};
        for (const std::string& id : ids_) {
            if (one_in(2)) {
                harm.connections.push_back(id);
            }
        }
        events_.harms.push_back(std::move(harm));
    }

    [[nodiscard]] std::string oracle_json() const {
        JsonWriter json;
        json.begin_object().key("ids").begin_object();
        for (const auto& [id, witness] : oracle_) {
            json.key(id).begin_object().key("streams").begin_array();
            for (std::size_t i = 0; i < witness.heads.size(); ++i) {
                json.begin_object().key("stream").value(static_cast<std::uint64_t>(i + 1));
                json.key("head").value(witness.heads[i]).end_object();
            }
            json.end_array().key("sockets").begin_array();
            for (const OracleSocket& socket : witness.sockets) {
                json.begin_object().key("opened_at_us").value(socket.opened_at_us).key("closed_at_us");
                socket.closed_at_us ? json.value(*socket.closed_at_us) : json.null();
                json.key("sent").begin_array();
                for (const auto& [stream, first] : socket.firsts) {
                    json.begin_object().key("stream").value(stream).key("first").value(first).end_object();
                }
                json.end_array().end_object();
            }
            json.end_array().end_object();
        }
        return json.end_object().end_object().take();
    }

    [[nodiscard]] std::string store_json() const {
        JsonWriter json;
        json.begin_object().key("sessions").begin_array().end_array().key("connections").begin_array();
        for (const auto& [id, epoch] : last_epochs_) {
            json.begin_object().key("id").value(id).key("epoch").value(epoch).key("owner").value("off#00").end_object();
        }
        return json.end_array().end_object().take();
    }

    Random random_;
    Proof proof_;
    Oracle oracle_;
    RunEvents events_;
    std::set<std::string> ids_;
    std::map<std::string, std::uint64_t> last_epochs_;
    std::map<std::string, std::string> files_;
    std::int64_t end_us_ = start_us;
};

struct Answer {
    int exit_code = -1;
    std::string text;
};

Answer check_proof(const std::filesystem::path& folder) {
    const std::string command = std::string{CHECK_PROOF} + " '" + folder.string() + "' 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    Answer answer;
    std::array<char, 4096> bytes{};
    while (const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
        answer.text.append(bytes.data(), got);
    }
    answer.exit_code = WEXITSTATUS(::pclose(pipe));
    return answer;
}

TEST(ProofAgreement, BothImplementationsGiveTheSameFiguresForRandomRuns) {
    const auto folder = std::filesystem::temp_directory_path() / ("longhold-proof-" + std::to_string(::getpid()));
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        std::filesystem::remove_all(folder);
        const RandomRun run{seed};
        run.write(folder);
        const Answer answer = check_proof(folder);
        EXPECT_EQ(answer.text.find("DIFFERS"), std::string::npos) << "seed " << seed << '\n' << answer.text;
        EXPECT_EQ(answer.exit_code, run.judge().holds() ? 0 : 3) << "seed " << seed << '\n' << answer.text;
    }
    std::filesystem::remove_all(folder);
}

// The runs above are worth something only if they reach what they are to tell apart.
TEST(ProofAgreement, RandomRunsReachEveryFigure) {
    ProofResult sum;
    std::uint64_t holding = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const ProofResult result = RandomRun{seed}.judge();
        sum.lost += result.lost;
        sum.redelivered += result.redelivered;
        sum.late += result.late;
        sum.overlaps += result.overlaps;
        sum.unknown += result.unknown;
        sum.unrecovered += result.unrecovered;
        sum.crash_recovery.count += result.crash_recovery.count;
        sum.handover_gap.count += result.handover_gap.max_us > 0 ? 1U : 0U;
        holding += result.holds() ? 1U : 0U;
    }
    for (const std::uint64_t figure : {sum.lost, sum.redelivered, sum.late, sum.overlaps, sum.unknown, sum.unrecovered,
                                       sum.crash_recovery.count, sum.handover_gap.count}) {
        EXPECT_GT(figure, 0U);
    }
    RecordProperty("holding", std::to_string(holding));
}

}  // namespace
}  // namespace longhold::fleet
