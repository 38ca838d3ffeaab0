// SPDX-License-Identifier: Apache-2.0
// How a QuickstartRun watches its fleet, and what it makes of it in the end.
#include <longhold/runtime/event.h>
#include <longhold/runtime/task_group.h>
#include <longhold/sink/ndjson/reader.h>
#include <longhold/store/admin.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "quickstart_run.h"

namespace longhold::fleet {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_every = 100ms;
constexpr Duration moment_every = 500ms;
constexpr Duration store_within = 5s;
constexpr std::uint32_t page_size = 500;

// The session of a sink file: its name up to ".NUMBER.ndjson".
std::string_view session_of(std::string_view file) {
    constexpr std::size_t tail = std::string_view{".000000.ndjson"}.size();
    return file.size() > tail ? file.substr(0, file.size() - tail) : file;
}

ProofRecord proof_record(const sink::ReadRecord& read) {
    ProofRecord record{.connection = read.connection.text(),
                       .session = session_of(read.file),
                       .place = {read.epoch.value, read.ordinal},
                       .stream = read.stream,
                       .is_data = read.kind == sink::RecordKind::data,
                       .received_at_us = read.received_at.time_since_epoch().count()};
    std::uint64_t seq = 0;
    const char* const end = read.seq.data() + read.seq.size();
    if (const auto parsed = std::from_chars(read.seq.data(), end, seq); !read.seq.empty() && parsed.ptr == end) {
        record.seq = seq;
    }
    if (read.has_resume) {
        record.resume = read.resume ? RecordPlace{read.resume->epoch.value, read.resume->ordinal} : RecordPlace{};
    }
    return record;
}

runtime::Task<> keep(runtime::Task<std::expected<ProofResult, std::string>> work,
                     std::expected<ProofResult, std::string>& result, runtime::Loop& loop) {
    struct Finish {
        runtime::Loop& loop;

        ~Finish() { loop.finish(); }
    } const finish{loop};

    try {
        result = co_await std::move(work);
    } catch (const std::exception& failure) {
        result = std::unexpected(std::string{"it threw: "} + failure.what());
    }
}

}  // namespace

runtime::Task<StageResult> QuickstartRun::look() {
    auto sessions = co_await store_->list_sessions(clock_.now() + store_within);
    if (!sessions) {
        co_return std::unexpected("the store cannot be read: " + sessions.error().detail);
    }
    sessions_.clear();
    for (auto& row : *sessions) {
        auto& known = sessions_[row.worker_id.text()];
        if (known.id.empty() || core::is_final(known.state)) {
            known = std::move(row);
        }
    }
    rows_.clear();
    for (bool more = true; more;) {
        auto page = co_await store_->list_connections({}, false, rows_.empty() ? ConnectionId{} : rows_.back().id,
                                                      page_size, clock_.now() + store_within);
        if (!page) {
            co_return std::unexpected("the store cannot be read: " + page.error().detail);
        }
        more = page->more;
        std::ranges::move(page->rows, std::back_inserter(rows_));
    }
    oracle_json_ = upstream_.control("GET", "/oracle").body;
    const auto oracle = parse_oracle(oracle_json_);
    if (!oracle) {
        co_return std::unexpected(oracle.error());
    }
    live_.clear();
    messages_sent_ = 0;
    for (const auto& [id, each] : *oracle) {
        if (std::ranges::any_of(each.sockets, [](const OracleSocket& socket) { return !socket.closed_at_us; })) {
            live_.insert(id);
        }
        messages_sent_ += each.heads.empty() ? 0 : each.heads.back();
    }
    co_return StageResult{};
}

StageResult QuickstartRun::check_alive() {
    for (auto& worker : workers_) {
        if (worker.told.empty() && worker.process->end()) {
            return std::unexpected(worker.name + " ended by itself; see " + path(worker.name + ".log"));
        }
    }
    return {};
}

runtime::Task<StageResult> QuickstartRun::wait_for(std::string what, Duration within, std::function<bool()> holds) {
    const Instant deadline = clock_.now() + within;
    Instant moment_at{};
    for (;;) {
        if (interrupted()) {
            co_return std::unexpected(std::string{interruption});
        }
        auto looked = co_await look();
        if (!looked) {
            co_return looked;
        }
        if (auto alive = check_alive(); !alive) {
            co_return alive;
        }
        if (reports_.moment && clock_.now() >= moment_at) {
            moment_at = clock_.now() + moment_every;
            QuickstartMoment moment{.doing = stage_,
                                    .sockets_live = live_.size(),
                                    .messages_sent = messages_sent_,
                                    .elapsed = clock_.now() - began_};
            for (const auto& worker : workers_) {
                const auto session = sessions_.find(worker.name);
                std::string state =
                    session == sessions_.end() ? "starting" : std::string{core::text(session->second.state)};
                moment.workers.push_back({.name = worker.name,
                                          .pid = worker.process->pid(),
                                          .state = worker.told == "killed" ? "killed, " + state : state,
                                          .held = held_by(worker.name)});
            }
            reports_.moment(moment);
        }
        if (holds()) {
            co_return StageResult{};
        }
        if (clock_.now() >= deadline) {
            co_return std::unexpected("waited in vain until " + what + "; the workers' logs are in " +
                                      options_.directory);
        }
        co_await runtime::sleep_until(loop_, clock_.now() + look_every);
    }
}

StageResult QuickstartRun::write_file(const std::string& name, const std::string& text) const {
    std::ofstream file{path(name), std::ios::binary | std::ios::trunc};
    file << text << '\n';
    file.close();
    if (!file) {
        return std::unexpected("the file " + path(name) + " cannot be written");
    }
    return {};
}

StageResult QuickstartRun::write_secret(const std::string& name, const std::string& text) const {
    if (auto made = write_file(name, ""); !made) {
        return made;
    }
    std::error_code failure;
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
                                 failure);
    if (failure) {
        return std::unexpected("the file " + path(name) + " cannot be made private: " + failure.message());
    }
    return write_file(name, text);
}

std::expected<ProofResult, std::string> QuickstartRun::prove() {
    oracle_json_ = upstream_.control("GET", "/oracle").body;
    const auto oracle = parse_oracle(oracle_json_);
    if (!oracle) {
        return std::unexpected(oracle.error());
    }
    auto dump = store::admin::dump({.url = options_.store_url, .ns = options_.name_space}, clock_);
    if (!dump) {
        return std::unexpected("the store cannot be dumped: " + dump.error().detail);
    }
    Proof proof;
    auto reader = sink::NdjsonReader::open(path("messages"), sink::system_files());
    if (!reader) {
        return std::unexpected(reader.error().detail);
    }
    sink::ReadRecord record;
    for (;;) {
        const auto next = (*reader)->next(record);
        if (!next) {
            return std::unexpected(next.error().detail);
        }
        if (!*next) {
            break;
        }
        proof.add(proof_record(record));
    }
    const ProofResult result = proof.judge(*oracle, events_);
    for (const auto& [name, text] : {std::pair<std::string, std::string>{"oracle.json", oracle_json_},
                                     {"events.json", events_json(events_)},
                                     {"store.json", *dump},
                                     {"proof.json", proof_json(result, 0)}}) {
        if (auto written = write_file(name, text); !written) {
            return std::unexpected(written.error());
        }
    }
    return result;
}

std::expected<ProofResult, std::string> run_quickstart(const QuickstartOptions& options, const runtime::Clock& clock,
                                                       const QuickstartReports& reports) {
    runtime::Loop loop{clock};
    std::expected<ProofResult, std::string> result = std::unexpected(std::string{"it did not run"});
    {
        QuickstartRun run{options, clock, loop, reports};
        runtime::TaskGroup group{loop};
        group.spawn(keep(run.run(), result, loop));
        loop.run();
    }
    return result;
}

}  // namespace longhold::fleet
