// SPDX-License-Identifier: Apache-2.0
#include <longhold/fleet/proof.h>

#include <algorithm>
#include <limits>
#include <set>

namespace longhold::fleet {
namespace {

// Counts pairs that are open at one instant. Touching ends are none.
std::uint64_t overlapping_pairs(const std::vector<OracleSocket>& sockets) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const OracleSocket& socket : sockets) {
        spans.emplace_back(socket.opened_at_us, socket.closed_at_us.value_or(std::numeric_limits<std::int64_t>::max()));
    }
    std::ranges::sort(spans);
    std::uint64_t pairs = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        for (std::size_t j = i + 1; j < spans.size() && spans[j].first < spans[i].second; ++j) {
            pairs += spans[i].first < spans[j].second ? 1U : 0U;
        }
    }
    return pairs;
}

// The lowest stream of which a socket was sent something, and the lowest number; {0, 0} when nothing was sent.
StreamHead first_sent(const OracleId& id) {
    StreamHead first;
    for (const OracleSocket& socket : id.sockets) {
        for (const auto& [stream, seq] : socket.firsts) {
            if (first.stream == 0 || stream < first.stream || (stream == first.stream && seq < first.seq)) {
                first = StreamHead{stream, seq};
            }
        }
    }
    return first;
}

std::vector<std::string> failures_of(const ProofResult& result, std::uint64_t without_data) {
    std::vector<std::string> failures;
    const auto check = [&](std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
        if (count > 0) {
            failures.push_back(std::to_string(count).append(" ").append(count == 1 ? one : many).append(rest));
        }
    };
    if (result.connections == 0) {
        failures.emplace_back("no connection was judged");
    }
    check(result.lost, "message was", "messages were", " lost");
    check(result.overlaps, "overlap", "overlaps", " of owners or sockets");
    check(result.unknown, "record is", "records are", " of messages that the upstream did not send");
    check(result.unrecovered, "connection was", "connections were",
          " not taken over after their worker was killed or drained");
    check(without_data, "connection", "connections", " delivered nothing");
    return failures;
}

}  // namespace

Spread spread_of(std::vector<std::int64_t> values) {
    if (values.empty()) {
        return {};
    }
    std::ranges::sort(values);
    const auto rank = [&](std::size_t percent) { return values[(percent * values.size() + 99) / 100 - 1]; };
    return Spread{.count = values.size(), .p50_us = rank(50), .p99_us = rank(99), .max_us = values.back()};
}

void Proof::add(const ProofRecord& record) {
    auto session = sessions_.find(record.session);
    if (session == sessions_.end()) {
        session = sessions_.emplace(std::string{record.session}, static_cast<std::uint32_t>(sessions_.size())).first;
    }
    auto connection = connections_.find(record.connection);
    if (connection == connections_.end()) {
        connection = connections_.emplace(std::string{record.connection}, Connection{}).first;
    }
    connection->second.records.push_back(Record{.place = record.place,
                                                .seq = record.seq,
                                                .received_at_us = record.received_at_us,
                                                .stream = record.stream,
                                                .session = session->second,
                                                .is_data = record.is_data});
    if (record.resume) {
        connection->second.openings.push_back(Opening{record.place.epoch, record.received_at_us, *record.resume});
    }
}

// One connection's part of a judgement.
class Proof::Judge {
public:
    explicit Judge(const Connection& connection) : connection_(connection), openings_(connection.openings) {
        std::ranges::sort(openings_, {}, &Opening::epoch);
        for (const Record& record : connection_.records) {
            if (record.is_data && !is_late(record)) {
                accepted_.push_back(&record);
            }
        }
    }

    // What does not depend on the oracle.
    void count(ProofResult& result) const {
        std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
        for (const Record* record : accepted_) {
            const bool is_new = !record->seq || seen.emplace(record->stream, *record->seq).second;
            result.redelivered += is_new ? 0U : 1U;
            result.overlaps += is_out_of_order(*record) ? 1U : 0U;
        }
        result.delivered += accepted_.size();
        const auto data = std::ranges::count_if(connection_.records, &Record::is_data);
        result.late += static_cast<std::uint64_t>(data) - accepted_.size();
        std::set<std::pair<std::uint64_t, std::uint32_t>> writers;
        std::set<std::uint64_t> epochs;
        for (const Record& record : connection_.records) {
            writers.emplace(record.place.epoch, record.session);
            epochs.insert(record.place.epoch);
        }
        for (const std::uint64_t epoch : epochs) {
            const auto from = writers.lower_bound({epoch, 0});
            result.overlaps +=
                from != writers.end() && std::next(from) != writers.end() && std::next(from)->first == epoch ? 1U : 0U;
        }
    }

    // Adds what is lost and unknown against the oracle's word.
    void compare(const OracleId& oracle, const StreamHead& stop, ProofResult& result) const {
        const StreamHead first = first_sent(oracle);
        if (first.stream == 0) {
            result.unknown += accepted_.size();
            return;
        }
        std::map<std::uint32_t, std::vector<std::uint64_t>> delivered = numbers_by_stream();
        std::uint64_t numbered = 0;
        std::uint32_t stream = first.stream;
        for (auto& [theirs, numbers] : delivered) {
            numbered += numbers.size();
            const std::uint64_t head = stream <= oracle.heads.size() ? oracle.heads[stream - 1] : 0;
            const std::uint64_t low = stream == first.stream ? first.seq : 1;
            result.unknown += std::erase_if(numbers, [&](std::uint64_t seq) { return seq < low || seq > head; });
            result.lost += lost_of(stream, low, std::move(numbers), oracle, stop);
            ++stream;
        }
        for (; stream <= stop.stream; ++stream) {
            result.lost += lost_of(stream, stream == first.stream ? first.seq : 1, {}, oracle, stop);
        }
        result.unknown += accepted_.size() - numbered;
    }

    [[nodiscard]] std::uint64_t epoch_at(std::int64_t time_us) const {
        std::uint64_t epoch = 0;
        for (const Record& record : connection_.records) {
            if (record.received_at_us <= time_us) {
                epoch = std::max(epoch, record.place.epoch);
            }
        }
        return epoch;
    }

    [[nodiscard]] std::optional<std::int64_t> first_above(std::uint64_t epoch) const {
        std::optional<std::int64_t> first;
        for (const Record* record : accepted_) {
            if (record->place.epoch > epoch && (!first || record->received_at_us < *first)) {
                first = record->received_at_us;
            }
        }
        return first;
    }

    [[nodiscard]] std::optional<std::int64_t> last_of(std::uint64_t epoch) const {
        std::optional<std::int64_t> last;
        for (const Record* record : accepted_) {
            if (record->place.epoch == epoch && (!last || record->received_at_us > *last)) {
                last = record->received_at_us;
            }
        }
        return last;
    }

    [[nodiscard]] bool has_accepted() const { return !accepted_.empty(); }

    [[nodiscard]] std::uint64_t accepted() const { return accepted_.size(); }

private:
    [[nodiscard]] bool is_late(const Record& record) const {
        return std::ranges::any_of(openings_, [&](const Opening& opening) {
            return opening.epoch > record.place.epoch && opening.resume < record.place;
        });
    }

    [[nodiscard]] bool is_out_of_order(const Record& record) const {
        return std::ranges::any_of(openings_, [&](const Opening& opening) {
            return opening.epoch > record.place.epoch && opening.received_at_us < record.received_at_us;
        });
    }

    [[nodiscard]] std::map<std::uint32_t, std::vector<std::uint64_t>> numbers_by_stream() const {
        std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;
        for (const Record* record : accepted_) {
            if (record->seq) {
                numbers[record->stream].push_back(*record->seq);
            }
        }
        return numbers;
    }

    // How many of the oracle's `stream` are expected and not among `numbers`.
    [[nodiscard]] static std::uint64_t lost_of(std::uint32_t stream, std::uint64_t low,
                                               std::vector<std::uint64_t> numbers, const OracleId& oracle,
                                               const StreamHead& stop) {
        std::ranges::sort(numbers);
        numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
        const std::uint64_t highest = numbers.empty() ? 0 : numbers.back();
        std::uint64_t high = highest;
        if (stream < stop.stream) {
            high = stream <= oracle.heads.size() ? oracle.heads[stream - 1] : 0;
        } else if (stream == stop.stream) {
            high = std::max(stop.seq, highest);
        }
        return high < low ? 0 : high - low + 1 - numbers.size();
    }

    const Connection& connection_;
    std::vector<Opening> openings_;
    std::vector<const Record*> accepted_;
};

ProofResult Proof::judge(const Oracle& oracle, const RunEvents& events) const {
    const Connection nothing;
    const OracleId silence;
    ProofResult result;
    std::uint64_t without_data = 0;
    std::map<std::string, Judge, std::less<>> judges;
    for (const auto& [id, connection] : connections_) {
        const Judge& judge = judges.emplace(id, connection).first->second;
        judge.count(result);
        if (!events.stop.heads.contains(id)) {
            result.unknown += judge.accepted();
        }
    }
    for (const auto& [id, head] : events.stop.heads) {
        ++result.connections;
        const Judge& judge = judges.try_emplace(id, nothing).first->second;
        const auto witness = oracle.find(id);
        judge.compare(witness == oracle.end() ? silence : witness->second, head, result);
        without_data += judge.has_accepted() ? 0U : 1U;
    }
    for (const auto& [id, witness] : oracle) {
        result.overlaps += overlapping_pairs(witness.sockets);
    }
    std::vector<std::int64_t> recoveries;
    std::vector<std::int64_t> gaps;
    for (const Harm& harm : events.harms) {
        for (const std::string& id : harm.connections) {
            const Judge& judge = judges.try_emplace(id, nothing).first->second;
            const std::uint64_t epoch = judge.epoch_at(harm.at_us);
            const auto first = judge.first_above(epoch);
            const auto last = harm.kind == HarmKind::kill ? std::optional{harm.at_us} : judge.last_of(epoch);
            if (!first || !last) {
                ++result.unrecovered;
            } else if (harm.kind == HarmKind::kill) {
                recoveries.push_back(*first - *last);
            } else {
                gaps.push_back(std::max<std::int64_t>(*first - *last, 0));
            }
        }
    }
    result.crash_recovery = spread_of(std::move(recoveries));
    result.handover_gap = spread_of(std::move(gaps));
    result.failures = failures_of(result, without_data);
    return result;
}

}  // namespace longhold::fleet
