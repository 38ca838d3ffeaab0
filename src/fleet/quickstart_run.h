// SPDX-License-Identifier: Apache-2.0
// QuickstartRun: the stages of quickstart, one after the other, as one task.
#pragma once

#include <longhold/core/rows.h>
#include <longhold/fleet/child_process.h>
#include <longhold/fleet/quickstart.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/store/open.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::fleet {

// A stage's end; the error says why the run cannot go on.
using StageResult = std::expected<void, std::string>;

inline constexpr std::string_view interruption = "interrupted by a signal";

using SessionsByWorker = std::map<std::string, core::SessionRow>;

// Whether every worker of `counters` has beaten since then at least so often that it has looked at the others in
// between, or is no more: a session whose row has gone was final before.
[[nodiscard]] bool all_have_looked(const std::map<std::string, std::uint64_t>& counters,
                                   const SessionsByWorker& sessions);

class QuickstartRun {
public:
    QuickstartRun(const QuickstartOptions& options, const runtime::Clock& clock, runtime::Loop& loop,
                  const QuickstartReports& reports);
    ~QuickstartRun();
    QuickstartRun(const QuickstartRun&) = delete;
    QuickstartRun& operator=(const QuickstartRun&) = delete;

    [[nodiscard]] runtime::Task<std::expected<ProofResult, std::string>> run();

private:
    struct Worker {
        std::string name;
        std::unique_ptr<ChildProcess> process;
        std::string told;  // what became of it by our hand: "killed", "drained"
    };

    // ---- stages
    StageResult open();
    runtime::Task<StageResult> start_workers(std::uint32_t count);
    runtime::Task<StageResult> put_connections();
    runtime::Task<StageResult> deliver(Duration how_long);
    runtime::Task<StageResult> kill_one();
    runtime::Task<StageResult> drain_one();
    runtime::Task<StageResult> stop_load();
    runtime::Task<StageResult> stop_workers();
    [[nodiscard]] std::expected<ProofResult, std::string> prove();
    runtime::Task<StageResult> stages();

    // ---- helpers
    [[nodiscard]] bool interrupted();
    // stages() with what it throws as an error.
    runtime::Task<StageResult> guarded_stages();
    [[nodiscard]] std::expected<ProofResult, std::string> guarded_prove();
    StageResult start_worker(const std::string& name);
    // Looks at the store and the oracle again; reports a moment.
    runtime::Task<StageResult> look();
    // Looks until `holds`, which sees what look() found. `what` is waited for.
    runtime::Task<StageResult> wait_for(std::string what, Duration within, std::function<bool()> holds);
    runtime::Task<StageResult> note_harm(HarmKind kind, const Worker& worker);
    [[nodiscard]] StageResult check_alive();
    [[nodiscard]] bool every_connection_is_held() const;
    [[nodiscard]] std::uint64_t held_by(const std::string& worker) const;
    [[nodiscard]] Worker* busiest();

    [[nodiscard]] std::string path(const std::string& name) const { return options_.directory + "/" + name; }

    [[nodiscard]] std::string id_of(std::uint32_t number) const;
    StageResult write_file(const std::string& name, const std::string& text) const;
    // Readable by this user alone.
    StageResult write_secret(const std::string& name, const std::string& text) const;
    void begin_stage(const std::string& stage);

    const QuickstartOptions& options_;
    const runtime::Clock& clock_;
    runtime::Loop& loop_;
    const QuickstartReports& reports_;
    Instant began_;
    std::string stage_;
    bool interrupted_ = false;
    mock::MockUpstream upstream_;
    std::unique_ptr<store::Store> store_;
    std::vector<Worker> workers_;
    std::uint32_t workers_started_ = 0;
    RunEvents events_;
    std::string oracle_json_;

    // As look() found it.
    SessionsByWorker sessions_;  // by worker name: the newest that is not final, else any
    std::vector<core::ConnectionRow> rows_;
    std::set<std::string> live_;  // connections with a live socket
    std::uint64_t messages_sent_ = 0;
};

}  // namespace longhold::fleet
