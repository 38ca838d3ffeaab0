// SPDX-License-Identifier: Apache-2.0
// What settings mean to the parts of `serve`.
#pragma once

#include <longhold/config/settings.h>
#include <longhold/lifecycle/step_result.h>
#include <longhold/lifecycle/stop_plan.h>
#include <longhold/runtime/loop.h>
#include <longhold/runtime/task.h>
#include <longhold/sink/open.h>
#include <longhold/telemetry/log.h>
#include <longhold/worker/worker.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace longhold::app {

[[nodiscard]] telemetry::Level log_level(std::string_view text);
[[nodiscard]] telemetry::LogFormat log_format(std::string_view text);
[[nodiscard]] sink::SinkOptions sink_options(const config::Settings& settings);
// `cores`: threads where the settings say 0.
[[nodiscard]] worker::WorkerOptions worker_options(const config::Settings& settings, const std::string& worker_id,
                                                   const std::string& version, std::uint32_t buckets,
                                                   std::uint32_t cores, std::uint64_t seed);
// The steps of a stop, in their order. `announced`: others are there, who must see that this session drains before it
// gives anything away, so that its connections go to those who poll for them.
[[nodiscard]] std::vector<lifecycle::StopStepSpec> stop_step_specs(const config::Settings& settings, bool announced);
// Whether drain.grace, where it is given, is enough for them. Errors: a sentence.
[[nodiscard]] std::expected<void, std::string> check_grace(const config::Settings& settings);
// How many connections may be held with so many descriptors, so that sink, store and admin listener keep theirs.
[[nodiscard]] std::uint32_t connections_within(std::uint64_t descriptors, std::uint32_t wanted);
// The service manager's socket; empty without one.
[[nodiscard]] std::string notify_address(const config::Environment& environment);
// "127.0.0.1" of "127.0.0.1:8471".
[[nodiscard]] std::string listen_host(std::string_view address);
// A step that lets time pass.
[[nodiscard]] runtime::Task<lifecycle::StepResult> wait_until(runtime::Loop& loop, Instant deadline);

}  // namespace longhold::app
